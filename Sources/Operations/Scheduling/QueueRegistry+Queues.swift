import OperationsRuntime

extension QueueRegistry {
    /// Identifies one queue for as long as the process lives, without retaining it.
    ///
    /// An entry takes the place of a weak reference, which would slow down every retain and release
    /// of the queue, and workers retain and release queues.
    package struct Entry: @unchecked Sendable, Hashable {
        fileprivate let pointer: UnsafeMutableRawPointer
        fileprivate let number: Int

        /// The queue, if it exists.
        package var queue: OperationQueue? {
            entries.withLock { entries in
                entries.queues[pointer] == number ? Reference(to: pointer) : nil
            }?.queue
        }
    }

    package static func entry(of queue: OperationQueue) -> Entry {
        let pointer = Unmanaged.passUnretained(queue).toOpaque()
        return Entry(pointer: pointer, number: entries.withLock { $0.queues[pointer] } ?? -1)
    }

    /// The queues that hold operations, in the order in which they were made, and whether each is
    /// retained by nothing but itself.
    static var unfinished: [(queue: OperationQueue, isAbandoned: Bool)] {
        let all = entries.withLock { entries in
            entries.queues.sorted { $0.value < $1.value }.map { pointer, _ in
                // First, because the reference is one more.
                let isAbandoned = hasOneReference(pointer)
                return (reference: Reference(to: pointer), isAbandoned)
            }
        }
        return all.compactMap { reference, isAbandoned in
            guard let queue = reference.queue, !queue.snapshot({ $0.isEmpty }) else { return nil }
            return (queue, isAbandoned)
        }
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

    /// A reference to a queue in the registry, made with the registry's lock held and released
    /// without it.
    ///
    /// The caller need not keep the queue alive. If the last reference is gone, `deinit` has begun,
    /// and waits for the registry's lock before it ends; so the memory is valid, but no reference
    /// may outlive the lock. A weak reference tells: it is nil as soon as `deinit` has begun.
    /// Otherwise this reference keeps the queue alive beyond the lock; so no release under the lock
    /// is the last one, which would run `deinit` there.
    private struct Reference: @unchecked Sendable {
        private struct Weak {
            weak var queue: OperationQueue?
        }

        let queue: OperationQueue?

        init(to pointer: UnsafeMutableRawPointer) {
            let found = Unmanaged<OperationQueue>.fromOpaque(pointer).takeUnretainedValue()
            // Made only here: from then on, counting the queue's references takes longer.
            queue = Weak(queue: found).queue
            withExtendedLifetime(found) {}
        }
    }
}
