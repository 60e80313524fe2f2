import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Compares every order, with deadlines, aging, barriers, and changes of priorities and places,
/// with `OrderModel`.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OrderModelTests {
    /// An operation outside the fast path: the queue calls its `isReady`.
    private final class Subclass: Operation, @unchecked Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        override func main() { body() }
    }

    private struct Run {
        var random: SplitMix64
        let steps = StepQueue()
        let recorder = TestRecorder<Int>()
        var model = OrderModel()
        var operations: [Int: Operation] = [:]
        /// The dependencies of the operations that are not ready.
        var keys: [Int: Operation] = [:]
        var seen = 0

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        mutating func pick(_ numbers: some Collection<Int>) -> Int? {
            let sorted = numbers.sorted()
            return sorted.isEmpty ? nil : sorted[random.below(sorted.count)]
        }

        mutating func priority() -> Operation.QueuePriority {
            Operation.QueuePriority(lane: random.below(5))
        }

        mutating func deadline() -> Int64? {
            random.happens(1, in: 3) ? nil : Int64(random.below(50))
        }

        mutating func add() {
            let number = model.nextNumber
            let recorder = recorder
            let body: @Sendable () -> Void = { recorder.record(number) }
            guard !random.happens(1, in: 25) else {
                model.add(
                    .init(
                        number: number, priority: .normal, isBarrier: true, turn: number,
                        readySince: steps.clock.now))
                return steps.queue.addBarrierBlock(body)
            }
            let operation = random.happens(2, in: 3) ? BlockOperation(block: body) : Subclass(body)
            let isReady = random.happens(3, in: 4)
            var item = OrderModel.Item(number: number, priority: priority(), turn: number)
            operation.queuePriority = item.priority
            if random.happens(1, in: 4) {
                item.deadline = deadline()
                operation.setDeadline(item.deadline)
            }
            if isReady {
                item.readySince = steps.clock.now
            } else {
                let key = Operation()
                operation.addDependency(key)
                keys[number] = key
            }
            model.add(item)
            operations[number] = operation
            steps.queue.addOperation(operation)
        }

        mutating func makeReady() {
            guard let number = pick(keys.keys), let key = keys.removeValue(forKey: number) else {
                return
            }
            key.start()
            model.change(number) { $0.readySince = steps.clock.now }
        }

        mutating func makeUnready() {
            guard let number = pick(operations.keys.filter { keys[$0] == nil }) else { return }
            let key = Operation()
            operations[number]?.addDependency(key)
            keys[number] = key
            model.change(number) { $0.readySince = nil }
        }

        mutating func changePriority() {
            guard let number = pick(operations.keys), let operation = operations[number] else {
                return
            }
            let new = priority()
            guard new != operation.queuePriority else { return }
            operation.queuePriority = new
            let (turn, now) = (model.nextNumber, steps.clock.now)
            model.change(number) {
                $0.priority = new
                $0.turn = turn
                if $0.readySince != nil { $0.readySince = now }
            }
        }

        mutating func changeDeadline() {
            guard let number = pick(operations.keys) else { return }
            let new = deadline()
            operations[number]?.setDeadline(new)
            model.change(number) { $0.deadline = new }
        }

        mutating func cancel() {
            guard let number = pick(operations.keys) else { return }
            operations.removeValue(forKey: number)?.cancel()
            keys[number] = nil
            model.remove(number)
            while steps.hasCancelled {
                steps.step()
                check()
            }
        }

        mutating func changeSettings() {
            let before = (model.order, model.span)
            model.order = OperationQueueOrder.allCases[random.below(3)]
            steps.queue.order = model.order
            if random.happens(1, in: 2) {
                model.span = random.happens(1, in: 3) ? nil : Int64(1 + random.below(40))
                steps.queue.aging = model.span.map { .nanoseconds($0) }
            }
            let wasAging = before.0 != .fifo && before.1 != nil
            // The order and the aging are set one after the other.
            guard !wasAging || model.order == .fifo || model.span == nil else { return }
            for item in model.items where item.readySince != nil {
                model.change(item.number) { $0.readySince = steps.clock.now }
            }
        }

        /// Expects that each operation that has run since was a candidate when it ran.
        mutating func check() {
            let values = recorder.events
            for number in values[seen...] {
                let candidates = model.candidates(now: steps.clock.now)
                #expect(candidates.contains(number), "\(model.order), \(model.span ?? 0)")
                model.remove(number)
                operations[number] = nil
            }
            seen = values.count
        }

        mutating func step() {
            let expected = model.candidates(now: steps.clock.now)
            let before = seen
            steps.step()
            check()
            #expect(expected.isEmpty == (seen == before))
        }

        mutating func disturb() {
            switch random.below(20) {
            case 0..<7: add()
            case 7..<9: makeReady()
            case 9: makeUnready()
            case 10..<12: changePriority()
            case 12: changeDeadline()
            case 13: if random.happens(1, in: 3) { cancel() }
            case 14: if random.happens(1, in: 4) { changeSettings() }
            case 15: steps.clock.advance(by: Int64(random.below(30)))
            case 16:
                steps.queue.maxConcurrentOperationCount =
                    random.happens(1, in: 2) ? 1 : OperationQueue.defaultMaxConcurrentOperationCount
            default: step()
            }
        }
    }

    @Test(arguments: seeds(count: 60))
    func nextOperationMatchesModel(seed: UInt64) async {
        var run = Run(seed: seed)
        for _ in 0..<1_500 / slowness * 2 { run.disturb() }
        while !run.keys.isEmpty { run.makeReady() }
        while !run.model.items.isEmpty, run.seen <= run.model.nextNumber {
            let before = run.seen
            run.step()
            guard run.seen > before else { break }
        }
        #expect(run.model.items.isEmpty)
        #expect(
            run.steps.queue.snapshot {
                $0.isEmpty && $0.ready.rescheduled.isEmpty && $0.ready.count == 0
            })
    }
}
