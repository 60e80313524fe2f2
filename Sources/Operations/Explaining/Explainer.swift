import OperationsRuntime

extension Operation {
    /// Explains why the operation does not run, or what it is doing, down to the causes of the
    /// causes.
    ///
    /// The explanation is for people who debug a program, and for the program's logs: print it.
    /// This method reads what the operations are doing without stopping them, and calls `name`,
    /// `isReady`, `isExecuting` and `isFinished`, which may be overridden, on the calling thread.
    ///
    /// - Complexity: O(operations that this operation waits for, and their edges; at most 10,000 of
    ///   them), and O(n) for each queue in which one of them is ready.
    public final func explain() -> OperationExplanation { Explainer([self]).explanation() }
}

/// Follows what an operation waits for, down to the operations that wait for nothing.
struct Explainer {
    typealias Explanation = OperationExplanation
    typealias Reason = OperationExplanation.Reason

    private static let limit = 10_000
    private static let causeLimit = 9

    private var walk: DepthFirstWalk<Operation, ObjectIdentifier>
    private var seenCount = 0
    private var causes: [Explanation.Cause] = []
    private var omitted = 0

    /// - Parameter operations: the operations to be explained. An operation is left out if an
    ///   earlier one waits for it.
    init(_ operations: [Operation]) {
        walk = DepthFirstWalk(from: operations, id: ObjectIdentifier.init)
    }

    func explanation() -> Explanation {
        var explainer = self
        while let step = explainer.walk.next() {
            switch step {
            case .entered(let operation): explainer.enter(operation)
            case .cycle(let start): explainer.foundCycle(from: start)
            case .left: break
            }
        }
        return Explanation(causes: explainer.causes, omittedCount: explainer.omitted)
    }

    private mutating func enter(_ operation: Operation) {
        guard walk.path.count == 1 || seenCount < Self.limit else { return walk.goBack() }
        seenCount += 1
        let diagnosis = Diagnosis(operation)
        walk.follow(diagnosis.next)
        for reason in diagnosis.reasons where saysSomething(reason, depth: walk.path.count) {
            add(reason, at: walk.path.count - 1)
        }
    }

    /// Returns whether a line about an operation on the way down adds to the first line.
    private func saysSomething(_ reason: Reason, depth: Int) -> Bool {
        if depth == 1 { return true }
        return switch reason {
        // These are links of the path that the lines below show, and causes of nothing.
        case .dependencies, .finished: false
        // The line above says it in parentheses.
        case .executing, .notStarted: depth > 2
        default: true
        }
    }

    private mutating func foundCycle(from start: Int) {
        let names = walk.path[start...].map(\.label)
        add(.cycle(names + names.prefix(1)), at: start)
    }

    /// Adds a cause that is about the operation at a place of the path.
    private mutating func add(_ reason: Reason, at place: Int) {
        guard causes.count < Self.causeLimit else {
            omitted += 1
            return
        }
        causes.append(
            Explanation.Cause(path: walk.path[...place].map(\.label), reason: reason))
    }
}
