import OperationsRuntime

/// What one round does, on which queues: a pure value that follows from a seed.
struct Plan: Codable, Equatable, Sendable {
    struct Queue: Codable, Equatable, Sendable {
        /// At most so many operations run at a time; negative for no limit.
        var width: Int
        /// 0 for the order of priorities, 1 for first in, first out, 2 for last in, first out.
        var order = 0
        /// How many operations the queue holds; nil for any number.
        var capacity: Int?
        var quality: Int?
        var usesDispatch = false
    }

    var seed: UInt64
    var queues: [Queue]
    /// The steps of each thread.
    var threads: [[Step]]
    /// Whether all queues are suspended until the threads have done their steps.
    var isHeld = false
    /// Whether the round ends with a check that no thread uses a processor.
    var endsQuietly = false
    /// Whether bodies count themselves in and out. The lock for that makes some faults rarer.
    var counts = false
    /// How long bodies compute; 0 for not at all.
    var effort = 0
    /// Whether bodies of all kinds suspend. Otherwise only pieces of tasks do.
    var suspends = true

    var steps: [Step] { threads.flatMap { $0 } }

    func uses(_ kind: Kind) -> Bool { threads.contains { $0.contains { $0.kind == kind } } }
}

extension Plan {
    /// The greatest width that a queue ever has; nil for no limit.
    func greatestWidth(of queue: Int) -> Int? {
        let changed = steps.filter { $0.kind == .widths && $0.queue == queue }.map(\.count)
        let all = changed + [queues[queue].width]
        return all.contains { $0 < 0 } ? nil : all.max()
    }

    /// Whether blocks that wait in a queue may be dropped.
    func mayDropBlocks(of queue: Int) -> Bool {
        queues[queue].capacity != nil
            || steps.contains {
                $0.queue == queue
                    && ($0.kind == .overflow || $0.kind == .cancels && $0.target == nil)
            }
    }

    /// Whether operations of one priority start in the order of their addition.
    func isInOrder(_ queue: Int) -> Bool {
        guard greatestWidth(of: queue) == 1, queues[queue].order < 2 else { return false }
        return !steps.contains { step in
            step.kind == .orders && step.style % 3 == 2
                || step.quality != nil || Kind.lasting.contains(step.kind)
        }
            && queues.allSatisfy { $0.quality == nil }
    }
}
