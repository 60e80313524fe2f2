import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// Long chains are released without recursion, whatever holds the previous link.
///
/// The stacks of these tests are small, so that a recursion would crash the process.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct ReleasingTests {
    private static let smallStack = 512 * 1024

    /// The part of an operation that holds the previous operation.
    enum Link: CaseIterable, Sendable {
        case inputOfAFunction
        case inputsOfAFunction
        case inputOfAnAsyncFunction
        case block
        case furtherBlock
        case completionBlock
        case cancelHandler
        case body
        case asyncBody
        case result
        case invocationTarget
        case memberOfAGroup
        case everything

        func operation(after previous: Operation?, _ token: Token) -> Operation {
            switch self {
            case .inputOfAFunction:
                guard let previous = previous as? TypedOperation<Int> else {
                    return TypedOperation { withExtendedLifetime(token) { 0 } }
                }
                return TypedOperation(after: previous) { input in
                    withExtendedLifetime(token) { input + 1 }
                }
            case .inputsOfAFunction:
                let inputs = [previous].compactMap { $0 as? TypedOperation<Int> }
                return TypedOperation(after: inputs) { _ in withExtendedLifetime(token) { 0 } }
            case .inputOfAnAsyncFunction:
                guard let previous = previous as? TypedOperation<Int> else {
                    return TypedOperation { withExtendedLifetime(token) { 0 } }
                }
                return TypedOperation(after: previous) { input async in
                    await Task.yield()
                    return withExtendedLifetime(token) { input + 1 }
                }
            case .block:
                return BlockOperation { withExtendedLifetime((previous, token)) {} }
            case .furtherBlock:
                let operation = BlockOperation {}
                operation.addExecutionBlock { withExtendedLifetime((previous, token)) {} }
                return operation
            case .completionBlock:
                let operation = Operation()
                operation.completionBlock = { withExtendedLifetime((previous, token)) {} }
                return operation
            case .cancelHandler:
                let operation = BlockOperation {}
                operation.onCancel { withExtendedLifetime((previous, token)) {} }
                return operation
            case .body:
                return TypedOperation { withExtendedLifetime((previous, token)) {} }
            case .asyncBody:
                return TypedOperation {
                    await previous?.waitUntilFinished()
                    withExtendedLifetime(token) {}
                }
            case .result:
                let operation = TypedOperation { (previous, token) }
                operation.start()
                return operation
            case .invocationTarget:
                return InvocationOperation(
                    target: Target(previous: previous, token: token), method: Target.work)
            case .memberOfAGroup:
                return GroupOperation {
                    if let previous { previous }
                    BlockOperation { withExtendedLifetime(token) {} }
                }
            case .everything:
                let operation = BlockOperation { withExtendedLifetime((previous, token)) {} }
                operation.addExecutionBlock { withExtendedLifetime(previous) {} }
                operation.completionBlock = { withExtendedLifetime(previous) {} }
                operation.onCancel { withExtendedLifetime(previous) {} }
                if let previous { operation.addDependency(previous) }
                return operation
            }
        }

        final class Target: Sendable {
            let previous: Operation?
            let token: Token
            init(previous: Operation?, token: Token) {
                (self.previous, self.token) = (previous, token)
            }
            func work() {}
        }
    }

    @Test(
        "a chain of a million links of each kind is released on a small stack",
        arguments: Link.allCases)
    func chainIsReleasedOnSmallStack(of link: Link) async {
        let gone = Tally()
        // Each group has a task, so a hundred thousand groups cost as much as a million blocks.
        let length = link == .memberOfAGroup ? 100_000 / slowness : 1_000_000 / chainSlowness
        await onThread(stackSize: Self.smallStack) {
            var last: Operation?
            for _ in 0..<length { last = link.operation(after: last, Token(gone)) }
            #expect(gone.value == 0)
            last = nil
            // The chain is released at once, on this thread.
            #expect(gone.value == length)
        }
    }

    @Test("a chain of links of all kinds is released on a small stack")
    func mixedChainIsReleasedOnSmallStack() async {
        let gone = Tally()
        let length = 300_000 / slowness
        let kinds = Link.allCases.filter {
            ![.inputOfAFunction, .inputsOfAFunction, .inputOfAnAsyncFunction].contains($0)
        }
        await onThread(stackSize: Self.smallStack) {
            var last: Operation?
            for index in 0..<length {
                let kind = kinds[index % kinds.count]
                last = kind.operation(after: last, Token(gone))
            }
            last = nil
            #expect(gone.value == length)
        }
    }

    private final class Step: Operation, @unchecked Sendable {
        let previous: Operation?
        let token: Token

        init(after previous: Operation?, _ token: Token) {
            (self.previous, self.token) = (previous, token)
            super.init()
            if let previous { addDependency(previous) }
        }
    }

    @Test("a chain of a subclass that stores its dependency is released on a small stack")
    func subclassChainIsReleasedOnSmallStack() async {
        let gone = Tally()
        let length = 1_000_000 / chainSlowness
        await onThread(stackSize: Self.smallStack) {
            var last: Operation?
            for _ in 0..<length { last = Step(after: last, Token(gone)) }
            last = nil
        }
        // When little stack is left, a worker releases the rest.
        #expect(await comesTrue { gone.value == length })
    }

    @Test("a short chain of a subclass that stores its dependency is released at once")
    func shortSubclassChainIsReleasedAtOnce() async {
        let gone = Tally()
        await onThread {
            var last: Operation?
            for _ in 0..<100 { last = Step(after: last, Token(gone)) }
            last = nil
            #expect(gone.value == 100)
        }
    }

    @Test("a branch with another reference stays alive while the rest of the chain is released")
    func retainedBranchStaysAlive() async {
        let gone = Tally()
        await onThread(stackSize: Self.smallStack) {
            var last: Operation?
            var kept: Operation?
            for index in 0..<1_000 {
                last = Link.block.operation(after: last, Token(gone))
                if index == 399 { kept = last }
            }
            last = nil
            #expect(gone.value == 600)
            kept = nil
            #expect(gone.value == 1_000)
            withExtendedLifetime(kept) {}
        }
    }

    @Test("a running block may release the last reference to a long chain")
    func runningBlockMayReleaseLongChain() async {
        let gone = Tally()
        let length = 100_000 / slowness
        let queue = OperationQueue()
        do {
            var last: Operation?
            for _ in 0..<length { last = Link.body.operation(after: last, Token(gone)) }
            let holder = Locked(last)
            queue.addOperation {
                let chain = holder.withLock { $0.take() }
                withExtendedLifetime(chain) {}
            }
        }
        await queue.drain()
        #expect(gone.value == length)
    }

    @Test("a million nested progress objects are cancelled and released on a small stack")
    func nestedProgressIsReleasedOnSmallStack() async {
        let gone = Tally()
        let length = 1_000_000 / chainSlowness
        await onThread(stackSize: Self.smallStack) {
            final class Counted: Progress, @unchecked Sendable {
                let token: Token
                init(parent: Progress, _ token: Token) {
                    self.token = token
                    super.init(totalUnitCount: 1, parent: parent, pendingUnitCount: 1)
                }
            }
            var root: Progress? = Progress.discreteProgress(totalUnitCount: 1)
            var last = root
            for _ in 0..<length {
                if let parent = last { last = Counted(parent: parent, Token(gone)) }
            }
            root?.cancel()
            #expect(last?.isCancelled == true)
            last = nil
            #expect(gone.value == 0)
            root = nil
            #expect(gone.value == length)
        }
    }

    private final class Dependents: Sendable {
        let all = Locked<[Operation]>([])
    }

    /// A thread that ends an operation holds that operation's lock, which the `deinit` of a
    /// dependent needs.
    @Test("a dependent in no queue may be released while its dependency finishes")
    func dependentIsReleasedWhileItsDependencyFinishes() async {
        let queue = OperationQueue()
        let dependents = Dependents()
        let (isOver, other) = (Tally(), BlockOperation {})
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while isOver.value == 0 {
                    // The operations are released without the lock.
                    let released = dependents.all.withLock { dependents in
                        defer { dependents = [] }
                        return dependents
                    }
                    withExtendedLifetime(released) {}
                }
            }
            group.addTask {
                for _ in 0..<rounds(30_000) {
                    let operation = BlockOperation {}
                    dependents.all.withLock { dependents in
                        for _ in 0..<4 {
                            let dependent = BlockOperation {}
                            // The second dependency stays unfinished.
                            for dependency in [operation, other] {
                                dependent.addDependency(dependency)
                            }
                            dependents.append(dependent)
                        }
                    }
                    queue.addOperation(operation)
                }
                await queue.drain()
                isOver.increment()
            }
        }
    }
}
