/// All queues of the process that exist.
///
/// It keeps none of them: a queue takes itself off the list when its `deinit` begins. Costs a lock when a
/// queue is made and when it goes away, and nothing in between.
enum QueueRegistry {
    private struct Entries: @unchecked Sendable {
        /// With how many had been made before.
        var queues: [UnsafeMutableRawPointer: Int] = [:]
        var made = 0
    }

    private static let entries = Protected(Entries())

    static func insert(_ queue: OperationQueue) {
        let reference = Unmanaged.passUnretained(queue).toOpaque()
        entries.withLock { entries in
            entries.queues[reference] = entries.made
            entries.made += 1
        }
    }

    static func remove(_ queue: OperationQueue) {
        let reference = Unmanaged.passUnretained(queue).toOpaque()
        entries.withLock { _ = $0.queues.removeValue(forKey: reference) }
    }

    /// The queues that hold operations, in the order in which they were made.
    ///
    /// A queue that holds something keeps itself, and lets go of itself only after the last has left; so one
    /// whose lock is held, and which holds something, can be retained. One that holds nothing may be going
    /// away: but not before this lock is free, so its state can be read.
    static var unfinished: [OperationQueue] {
        // Whatever is let go of is let go of without the lock.
        entries.withLock { entries in
            entries.queues.compactMap { pointer, number in
                Self.retained(pointer).map { Found(number: number, queue: $0) }
            }
        }
        .sorted { $0.number < $1.number }
        .map { $0.queue.takeRetainedValue() }
    }

    private struct Found: @unchecked Sendable {
        let number: Int
        let queue: Unmanaged<OperationQueue>
    }

    private static func retained(_ pointer: UnsafeMutableRawPointer) -> Unmanaged<OperationQueue>? {
        let reference = Unmanaged<OperationQueue>.fromOpaque(pointer)
        return reference._withUnsafeGuaranteedRef { queue in
            queue.snapshot { $0.isEmpty ? nil : reference.retain() }
        }
    }
}
