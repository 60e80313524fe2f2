/// Follows what an operation waits for, down to the operations that wait for nothing.
struct Explainer {
    typealias Explanation = OperationExplanation
    typealias Reason = OperationExplanation.Reason

    private static let limit = 10_000
    private static let causeLimit = 9

    /// An operation on the way down, and the operations that are still to be followed from it.
    private struct Stop {
        let operation: Operation
        var rest: ArraySlice<Operation>
    }

    private let firsts: [Operation]
    private var causes: [Explanation.Cause] = []
    private var omitted = 0
    private var seen: Set<ObjectIdentifier> = []
    private var trail: [Stop] = []
    private var onTrail: Set<ObjectIdentifier> = []

    /// - Parameter operations: the operations to be explained. An operation is left out if an
    ///   earlier one waits for it.
    init(_ operations: [Operation]) {
        firsts = operations
    }

    func explanation() -> Explanation {
        var explainer = self
        for first in firsts where !explainer.seen.contains(ObjectIdentifier(first)) {
            explainer.follow(first)
        }
        return Explanation(causes: explainer.causes, omittedCount: explainer.omitted)
    }

    private mutating func follow(_ first: Operation) {
        enter(first)
        while let last = trail.indices.last {
            guard let next = trail[last].rest.popFirst() else {
                onTrail.remove(ObjectIdentifier(trail.removeLast().operation))
                continue
            }
            if onTrail.contains(ObjectIdentifier(next)) {
                foundCycle(at: next)
            } else if seen.count < Self.limit, !seen.contains(ObjectIdentifier(next)) {
                enter(next)
            }
        }
    }

    private mutating func enter(_ operation: Operation) {
        seen.insert(ObjectIdentifier(operation))
        onTrail.insert(ObjectIdentifier(operation))
        let diagnosis = Diagnosis(operation)
        trail.append(Stop(operation: operation, rest: diagnosis.next[...]))
        for reason in diagnosis.reasons where saysSomething(reason, depth: trail.count) {
            guard causes.count < Self.causeLimit else {
                omitted += 1
                continue
            }
            causes.append(Explanation.Cause(path: trail.map(\.operation.label), reason: reason))
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

    private mutating func foundCycle(at operation: Operation) {
        guard let start = trail.firstIndex(where: { $0.operation === operation }) else { return }
        guard causes.count < Self.causeLimit else {
            omitted += 1
            return
        }
        let names = trail[start...].map(\.operation.label) + [operation.label]
        let path = trail[...start].map(\.operation.label)
        causes.append(Explanation.Cause(path: path, reason: .cycle(names)))
    }
}
