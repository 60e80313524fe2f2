import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The processor time of a workload does not grow with the square of its size. Each test runs in a
/// process of its own, because processor time is counted for a whole process.
@Suite(
    .ownThreads, .serialized, .timeLimit(.minutes(10)),
    .disabled(if: isThreadSanitized, "it would measure the sanitizer"))
struct GrowthTests {
    @Test func timedOutWaitsForOperation() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let operation = BlockOperation {}
                await withTaskGroup { group in
                    for _ in 0..<count {
                        group.addTask { _ = await operation.finished(within: .milliseconds(50)) }
                    }
                }
                operation.start()
            }
        }
    }

    @Test func timedOutWaitsForQueue() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let queue = suspendedQueue()
                queue.addOperation {}
                await withTaskGroup { group in
                    for _ in 0..<count {
                        group.addTask { _ = await queue.finished(within: .milliseconds(50)) }
                    }
                }
                queue.isSuspended = false
                await queue.drain()
            }
        }
    }

    @Test(arguments: [false, true]) func barriers(areCancelled: Bool) async {
        await #expect(processExitsWith: .success) { [areCancelled] in
            await Growth.expectNearLinear(from: 2_000) { count in
                let queue = suspendedQueue()
                for _ in 0..<count { queue.addBarrierBlock {} }
                if areCancelled { queue.cancelAllOperations() }
                queue.isSuspended = false
                await queue.drain()
            }
        }
    }

    /// The order in which dependencies are removed.
    enum RemovalOrder: Int, CaseIterable, Codable {
        case firstFirst, lastFirst, random

        func sorted(_ operations: [Operation]) -> [Operation] {
            switch self {
            case .firstFirst: return operations
            case .lastFirst: return operations.reversed()
            case .random:
                var random = SplitMix64(seed: 27)
                return operations.shuffled(using: &random)
            }
        }
    }

    @Test(arguments: RemovalOrder.allCases, [false, true])
    func removedDependencies(order: RemovalOrder, areFinished: Bool) async {
        await #expect(processExitsWith: .success) { [order, areFinished] in
            await Growth.expectNearLinear(from: 400) { count in
                let dependencies = (0..<count).map { _ in Operation() }
                let dependent = Operation()
                for dependency in dependencies { dependent.addDependency(dependency) }
                if areFinished { for dependency in dependencies { dependency.start() } }
                for dependency in order.sorted(dependencies) {
                    dependent.removeDependency(dependency)
                }
                #expect(dependent.dependencies.isEmpty && dependent.isReady)
            }
        }
    }

    /// The list of dependencies is not made for observers of other properties.
    @Test func dependenciesOfObservedOperation() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let dependencies = (0..<count).map { _ in Operation() }
                let dependent = Operation()
                let observation = dependent.observe(\.isReady) { _, _ in }
                for dependency in dependencies { dependent.addDependency(dependency) }
                for dependency in dependencies { dependent.removeDependency(dependency) }
                #expect(dependent.isReady)
                observation.invalidate()
            }
        }
    }

    @Test func replacedDependencies() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let dependent = Operation()
                for _ in 0..<count { dependent.addDependency(Operation()) }
                for _ in 0..<count {
                    let dependency = Operation()
                    dependent.addDependency(dependency)
                    dependent.removeDependency(dependency)
                }
                #expect(dependent.dependencies.count == count)
            }
        }
    }

    @Test func removedDependents() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let dependency = Operation()
                let dependents = (0..<count).map { _ in Operation() }
                for dependent in dependents { dependent.addDependency(dependency) }
                for dependent in dependents.dropLast() { dependent.removeDependency(dependency) }
                #expect(dependents[0].isReady && dependents.last?.isReady == false)
            }
        }
    }

    /// Cancelled operations leave the lists of their dependencies, from which they are removed
    /// later.
    @Test(arguments: [false, true])
    func dependenciesOfCancelledOperations(areRemoved: Bool) async {
        await #expect(processExitsWith: .success) { [areRemoved] in
            await Growth.expectNearLinear(from: 400) { count in
                let dependencies = (0..<count).map { _ in Operation() }
                let dependent = BlockOperation {}
                for dependency in dependencies { dependent.addDependency(dependency) }
                let queue = OperationQueue()
                queue.addOperation(dependent)
                dependent.cancel()
                await queue.drain()
                guard areRemoved else { return }
                for dependency in dependencies { dependent.removeDependency(dependency) }
                #expect(dependent.dependencies.isEmpty)
            }
        }
    }

    @Test func pausesOfABudget() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 400) { count in
                let (budget, other) = (ConcurrencyBudget(2), ConcurrencyBudget(2))
                let queue = OperationQueue()
                let (began, mayEnd) = (Signal(), Signal())
                queue.add(.cost(1, of: budget), .cost(1, of: other)) {
                    began.send()
                    mayEnd.wait()
                }
                began.wait()
                var last: TypedOperation<Void>?
                for _ in 0..<count {
                    last = queue.add(.cost(2, of: budget), .cost(1, of: other)) {}
                }
                // The last one is in line.
                _ = await comesTrue { last?.isReady == false }
                for _ in 0..<5 {
                    budget.permits = 0
                    budget.permits = 0
                    budget.permits = 2
                }
                budget.permits = 0
                queue.cancelAllOperations()
                mayEnd.send()
                await queue.drain()
            }
        }
    }

    @Test func nestedWaitsForQueues() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 40) { count in
                let queues = (0..<count).map { _ in OperationQueue() }
                Growth.wait(for: queues[...])
            }
        }
    }

    @Test func nestedWaits() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 30) { count in
                let queue = OperationQueue()
                _ = Growth.nested(count, in: queue)
                await queue.drain()
            }
        }
    }

    @Test func chainOfBlockedThreads() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 30) { count in
                let queue = OperationQueue()
                let proceed = Signal()
                var last: Operation = BlockOperation { proceed.wait() }
                queue.addOperation(last)
                for _ in 1..<count {
                    let (previous, began) = (last, Signal())
                    last = BlockOperation {
                        began.send()
                        previous.waitUntilFinished()
                    }
                    queue.addOperation(last)
                    await onThread { _ = began.wait() }
                }
                proceed.send()
                await queue.drain()
            }
        }
    }

    @Test func chainOfSuspendedTasks() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 200) { count in
                let queue = OperationQueue()
                let first = BlockOperation {}
                var last: Operation = first
                let began = Tally()
                for _ in 1..<count {
                    let previous = last
                    last = queue.add {
                        began.increment()
                        await previous.waitUntilFinished()
                    }
                }
                _ = await comesTrue { began.value == count - 1 }
                first.start()
                await queue.drain()
            }
        }
    }

    @Test func nestedGroups() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 30) { count in
                let queue = OperationQueue()
                queue.addOperation(Growth.nestedGroups(count) {})
                await queue.drain()
            }
        }
    }

    @Test func nestedGroupsCancelledBeforeStart() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 100) { count in
                let outermost = Growth.nestedGroups(count) { Issue.record("a cancelled body ran") }
                outermost.cancel()
                outermost.start()
            }
        }
    }

    @Test func nestedProgress() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 300) { count in
                let root = Progress.discreteProgress(totalUnitCount: 1)
                var last = root
                for _ in 0..<count {
                    last = Progress(totalUnitCount: 1, parent: last, pendingUnitCount: 1)
                }
                root.cancel()
                #expect(last.isCancelled)
                last.completedUnitCount = 1
                #expect(root.isFinished)
            }
        }
    }

    @Test(arguments: [false, true]) func endedObservations(areEndedInOrder: Bool) async {
        await #expect(processExitsWith: .success) { [areEndedInOrder] in
            await Growth.expectNearLinear(from: 1_000) { count in
                let operation = BlockOperation {}
                let observations = (0..<count).map { _ in
                    operation.observe(\.isFinished) { _, _ in Issue.record("it was invalidated") }
                }
                if areEndedInOrder {
                    for observation in observations { observation.invalidate() }
                } else {
                    for observation in observations.reversed() { observation.invalidate() }
                }
                operation.start()
            }
        }
    }

    @Test func keysUnequalToThemselves() async {
        await #expect(processExitsWith: .success) {
            await Growth.expectNearLinear(from: 500) { count in
                let queue = suspendedQueue()
                for _ in 0..<count { queue.add(.exclusive(by: Double.nan)) {} }
                queue.isSuspended = false
                await queue.drain()
            }
        }
    }
}
