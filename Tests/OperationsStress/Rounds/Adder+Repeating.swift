import Dispatch
import Operations
import OperationsRuntime
import Synchronization

// What runs in several attempts, within a time, or once something else allows it.

extension Adder {
    /// Adds an operation whose first attempts fail.
    func addRetried(_ step: Step, to queue: OperationQueue) {
        let (work, body) = work(step)
        let failures = FailureCount(step.hops)
        let suspends = step.style % 2 == 0 && round.plan.suspends
        let operation: TypedOperation<Void> =
            suspends
            ? TypedOperation { () async throws in
                await Pause.perform(step.style, 1)
                try failures.countDown()
                body()
            }
            : TypedOperation {
                try failures.countDown()
                body()
            }
        operation.apply(
            step.traits + [.retry(step.hops, backoff: .constant(.microseconds(step.style * 50)))])
        queue.addOperation(operation)
        // A cancellation may be announced while an attempt goes on. If that attempt then fails, it
        // was the last one, and the operation has failed.
        let isCertain = !round.plan.uses(.cancels)
        round.record(
            step, [Round.Part(operation: operation, works: [work], isCertain: isCertain)])
    }

    /// Adds an operation whose time may be over before its body has begun, or while it goes on.
    func addTimed(_ step: Step, to queue: OperationQueue) {
        let (work, body) = work(step)
        let suspends = round.plan.suspends
        let operation = TypedOperation<Void> { () async in
            if suspends { await Pause.perform(step.style, step.hops) }
            body()
        }
        let time = Duration.microseconds(step.hops * 100)
        operation.apply(
            step.traits + [step.style < 4 ? .timeout(time) : .deadline(in: time), .mayFail])
        queue.addOperation(operation)
        round.record(
            step, [Round.Part(operation: operation, works: [work], isCertain: false)])
    }

    /// Adds an operation that runs several times, and then cancels itself.
    func addRepeated(_ step: Step, to queue: OperationQueue) {
        let home = round.homes[step.queue]
        let token = round.releases.token()
        let body = RepeatedBody(home, left: 1 + step.hops)
        let operation = TypedOperation<Void> {
            withExtendedLifetime(token) { body.run() }
        }
        operation.apply(step.traits + [.every(.microseconds(100 + step.style * 50))])
        queue.addOperation(operation)
        round.record(step, [Round.Part(operation: operation, works: [])])
    }

    /// Lets a task add an operation once its queue has capacity for it.
    func addOnceThereIsCapacity(_ step: Step, to queue: OperationQueue) {
        let work = Work(step.id, in: round.homes[step.queue])
        let body = body(of: work)
        let (round, suspends) = (round, round.plan.suspends)
        round.tasks.enter()
        Task.detached {
            let operation: TypedOperation<Void>?
            let limit: Duration? = step.style == 0 ? .microseconds(200) : nil
            if step.style % 2 == 0, suspends {
                operation = try? await queue.add(capacity: 1 + step.count, within: limit) {
                    () async in
                    await Pause.perform(step.style, step.hops)
                    body()
                }
            } else {
                operation = try? await queue.add(capacity: 1 + step.count, within: limit) {
                    body()
                }
            }
            if let operation {
                round.record(step, [Round.Part(operation: operation, works: [work])])
            } else if limit == nil {
                round.homes[step.queue].report("step \(step.id) was not added")
            }
            round.tasks.leave()
        }
    }

    /// Adds an operation that says only later that it is ready.
    func addReadyLater(_ step: Step, to queue: OperationQueue) {
        let (work, body) = work(step)
        let operation = OpenedOperation(body)
        configure(operation, as: step)
        queue.addOperation(operation)
        // What depends on the operation may be added only now.
        round.record(step, [Round.Part(operation: operation, works: [work])])
        if step.style < 4 { return operation.open() }
        let tasks = round.tasks
        tasks.enter()
        DispatchQueue.global().async {
            operation.open()
            tasks.leave()
        }
    }

    /// Adds to a queue that is shut down at once, or soon.
    func addToQueueThatShutsDown(_ step: Step) {
        let queue = OperationQueue(width: [1, 2, -1][step.style % 3])
        let home = Home(unwatched: step.queue, round.violations)
        let works = (0..<step.count).map { _ in Work(step.id, in: home) }
        queue.isSuspended = step.hops == 3
        Self.add(works.map { body(of: $0) }, as: step, to: queue, suspends: round.plan.suspends)
        round.expectRelease(of: queue)
        round.record(
            step, [Round.Part(operation: nil, works: works, isCertain: false)])
        let tasks = round.tasks
        tasks.enter()
        Task.detached {
            await queue.shutDown(
                grace: .microseconds(step.hops * 100), cancelsWaiting: step.style < 2)
            if queue.operationCount != 0 {
                home.report("the queue of step \(step.id) was shut down and is not empty")
            }
            tasks.leave()
        }
    }
}

/// How often a body still has to fail.
private final class FailureCount: Sendable {
    private struct Planned: Error {}

    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func countDown() throws {
        Heartbeat.beat()
        if left.subtract(1, ordering: .relaxed).oldValue > 0 { throw Planned() }
    }
}

/// The body of an operation that runs again and again, until it has run so many times.
private final class RepeatedBody: Sendable {
    private let home: Home
    private let left: Atomic<Int>

    init(_ home: Home, left: Int) {
        self.home = home
        self.left = Atomic(left)
    }

    func run() {
        home.enterPiece(-1)
        if left.subtract(1, ordering: .relaxed).newValue <= 0 { Operation.current?.cancel() }
        home.leave()
    }
}

/// An operation that is ready once somebody has opened it.
private final class OpenedOperation: Operation, @unchecked Sendable {
    private let isOpen = Atomic<Bool>(false)
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    override var isReady: Bool { isOpen.load(ordering: .acquiring) && super.isReady }

    override func main() { work() }

    func open() {
        willChangeValue(forKey: "isReady")
        isOpen.store(true, ordering: .releasing)
        didChangeValue(forKey: "isReady")
    }
}
