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

    private static let entries = Locked(Entries())

    /// Made with the first queue.
    private static let exitReport: Void = {
        atProcessExit { OperationsDiagnostics.reportAtExit() }
    }()

    static func insert(_ queue: OperationQueue) {
        exitReport
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

    /// Means one queue, for as long as the process lives, without keeping it.
    ///
    /// In place of a weak reference: that would make every count of the queue's references slower, and
    /// workers count them.
    struct Entry: @unchecked Sendable, Hashable {
        fileprivate let pointer: UnsafeMutableRawPointer
        fileprivate let number: Int

        /// Calls `body` with the queue if it exists; under the registry's lock, so that it goes on existing.
        func withQueue(_ body: (OperationQueue) -> Void) {
            entries.withLock { entries in
                guard entries.queues[pointer] == number else { return }
                Unmanaged<OperationQueue>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
            }
        }

        var exists: Bool { entries.withLock { $0.queues[pointer] == number } }

        /// The queue, if it exists and holds operations.
        var unfinishedQueue: OperationQueue? {
            let reference = entries.withLock { entries in
                entries.queues[pointer] == number ? retained(pointer) : nil
            }
            return reference?.queue.takeRetainedValue()
        }
    }

    static func entry(of queue: OperationQueue) -> Entry {
        let pointer = Unmanaged.passUnretained(queue).toOpaque()
        return Entry(pointer: pointer, number: entries.withLock { $0.queues[pointer] } ?? -1)
    }

    /// The queues that hold operations, in the order in which they were made, and whether each is kept by nothing
    /// but itself.
    static var unfinished: [(queue: OperationQueue, isAbandoned: Bool)] {
        // Whatever is let go of is let go of without the lock.
        entries.withLock { entries in
            entries.queues.sorted { $0.value < $1.value }.compactMap { pointer, _ in
                let isAbandoned = hasOneReference(pointer)
                return retained(pointer).map { ($0, isAbandoned) }
            }
        }
        .map { ($0.queue.takeRetainedValue(), $1) }
    }

    /// Looks at the count without adding a reference, which would be one more.
    private static func hasOneReference(_ pointer: UnsafeMutableRawPointer) -> Bool {
        var pointer = pointer
        return withUnsafeMutableBytes(of: &pointer) { bytes in
            bytes.withMemoryRebound(to: OperationQueue.self) { queues in
                guard let place = queues.baseAddress else { return false }
                return isKnownUniquelyReferenced(&place.pointee)
            }
        }
    }

    private struct Retained: @unchecked Sendable {
        let queue: Unmanaged<OperationQueue>
    }

    /// The lock is held.
    ///
    /// A queue that holds something keeps itself, and lets go of itself only after the last has left; so one
    /// whose own lock is held, and which holds something, can be retained. One that holds nothing may be
    /// going away: but not before the registry's lock is free, so its state can be read.
    private static func retained(_ pointer: UnsafeMutableRawPointer) -> Retained? {
        let reference = Unmanaged<OperationQueue>.fromOpaque(pointer)
        return reference._withUnsafeGuaranteedRef { queue in
            queue.snapshot { $0.isEmpty ? nil : Retained(queue: reference.retain()) }
        }
    }
}
