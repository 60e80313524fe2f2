import Dispatch
import Synchronization
import Testing

@testable import Operations

/// A clock that stands still until the test advances it.
final class StoppedClock: Sendable {
    private let time = Atomic<Int64>(1_000)

    var now: Int64 { time.load(ordering: .relaxed) }
    func advance(by nanoseconds: Int64) { time.add(nanoseconds, ordering: .relaxed) }
}

/// A queue that runs its next operation on request, on the calling thread.
final class StepQueue: Sendable {
    let queue = OperationQueue()
    let clock = StoppedClock()
    private let underlying = DispatchQueue(label: "never runs", attributes: .initiallyInactive)

    init() {
        queue.underlyingQueue = underlying
        queue.clock = { [clock] in clock.now }
    }

    // Dispatch does not allow the release of an inactive queue.
    deinit { underlying.activate() }

    func step() { queue.runNext(on: .dispatch(underlying)) }

    var hasCancelled: Bool {
        queue.snapshot { $0.ring.readyCount(OperationRing.cancelledLane) > 0 }
    }
}

extension OperationQueue {
    /// Makes the queue assume that its operations are so short that workers should claim several of
    /// them at once.
    func claimsSeveral() { event { $0.slots.pace.typicalNanoseconds = 100 } }
}

/// Computes what a queue should do next by the plain meaning of its settings, without regard to
/// speed.
struct OrderModel {
    struct Item {
        let number: Int
        var priority: Operation.QueuePriority
        var isBarrier = false
        var deadline: Int64?
        var turn: Int
        var readySince: Int64?
    }

    var order = OperationQueueOrder.priority
    var span: Int64?
    private(set) var items: [Item] = []
    var nextNumber = 0

    mutating func add(_ item: Item) {
        items.append(item)
        nextNumber = item.number + 1
    }

    mutating func change(_ number: Int, _ body: (inout Item) -> Void) {
        if let index = items.firstIndex(where: { $0.number == number }) { body(&items[index]) }
    }

    mutating func remove(_ number: Int) { items.removeAll { $0.number == number } }

    /// The operations that may be next; several, if the settings do not decide between them.
    func candidates(now: Int64) -> Set<Int> {
        var eligible: [Item] = []
        for (index, item) in items.enumerated() {
            if item.isBarrier {
                if index == 0 { eligible.append(item) }
                break
            }
            if item.readySince != nil {
                eligible.append(item)
            } else if order == .fifo {
                break
            }
        }
        if order == .fifo { return Set(eligible.prefix(1).map(\.number)) }
        let ranks = eligible.map { item in
            let since = item.readySince ?? now
            let steps = span.map { now / $0 - since / $0 } ?? 0
            return [
                -Int64(item.priority.lane) - steps, item.deadline ?? .max,
                order == .lifo ? -Int64(item.number) : Int64(item.turn),
            ]
        }
        guard let best = ranks.min(by: { $0.lexicographicallyPrecedes($1) }) else { return [] }
        return Set(zip(eligible, ranks).filter { $0.1 == best }.map(\.0.number))
    }
}
