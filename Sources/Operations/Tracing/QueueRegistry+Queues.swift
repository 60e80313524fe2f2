extension QueueRegistry {
    /// Identifies one queue for as long as the process lives, without retaining it.
    ///
    /// An entry takes the place of a weak reference, which would slow down every retain and release
    /// of the queue, and workers retain and release queues.
    package struct Entry: @unchecked Sendable, Hashable {
        fileprivate let pointer: UnsafeMutableRawPointer
        fileprivate let number: Int

        /// Calls `body` with the queue if the queue exists.
        ///
        /// The call is made under the registry's lock, so the queue continues to exist during the
        /// call.
        package func withQueue(_ body: (OperationQueue) -> Void) {
            entries.withLock { entries in
                guard entries.queues[pointer] == number else { return }
                Unmanaged<OperationQueue>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
            }
        }

        var exists: Bool { entries.withLock { $0.queues[pointer] == number } }

        /// The queue, if it exists and holds operations.
        package var unfinishedQueue: OperationQueue? {
            let reference = entries.withLock { entries in
                entries.queues[pointer] == number ? retained(pointer) : nil
            }
            return reference?.queue.takeRetainedValue()
        }
    }

    package static func entry(of queue: OperationQueue) -> Entry {
        let pointer = Unmanaged.passUnretained(queue).toOpaque()
        return Entry(pointer: pointer, number: entries.withLock { $0.queues[pointer] } ?? -1)
    }

    /// The queues that hold operations, in the order in which they were made, and whether each is
    /// retained by nothing but itself.
    static var unfinished: [(queue: OperationQueue, isAbandoned: Bool)] {
        // References are released only after the lock.
        entries.withLock { entries in
            entries.queues.sorted { $0.value < $1.value }.compactMap { pointer, _ in
                let isAbandoned = hasOneReference(pointer)
                return retained(pointer).map { ($0, isAbandoned) }
            }
        }
        .map { ($0.queue.takeRetainedValue(), $1) }
    }

    /// Returns whether the queue has exactly one reference. Reading the count adds no reference,
    /// which would change the answer.
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

    /// Retains the queue if it holds operations. The caller holds the registry's lock.
    ///
    /// A queue retains itself while it holds operations, and releases that reference only after the
    /// last operation has left. So while the queue's own lock is held and the queue holds
    /// operations, the queue can be retained. A queue that holds none may be in its `deinit`, but
    /// `deinit` cannot continue before the registry's lock is free, so the queue's state can still
    /// be read.
    private static func retained(_ pointer: UnsafeMutableRawPointer) -> Retained? {
        let reference = Unmanaged<OperationQueue>.fromOpaque(pointer)
        return reference._withUnsafeGuaranteedRef { queue in
            queue.snapshot { $0.isEmpty ? nil : Retained(queue: reference.retain()) }
        }
    }
}
