import OperationsRuntime

/// All existing queues of the process.
///
/// The registry retains no queue: a queue removes itself when its `deinit` begins. The registry
/// costs a lock when a queue is made and when it is deinitialized, and nothing in between.
package enum QueueRegistry {
    struct Entries: @unchecked Sendable {
        /// The number of queues made before, by queue.
        var queues: [UnsafeMutableRawPointer: Int] = [:]
        var made = 0
    }

    static let entries = Locked(Entries())

    /// Registers the reports about the whole process; evaluated when the first queue or executor is
    /// made.
    static let reports: Void = {
        atProcessExit { OperationsDiagnostics.reportAtExit() }
        WorkerPool.exhaustionHandler = { threads, waiting in
            OperationsDiagnostics.handler(.allThreadsBlocked(threads: threads, waiting: waiting))
        }
    }()

    /// Registers a queue, given by its address.
    static func insert(_ reference: UnsafeMutableRawPointer) {
        reports
        entries.withLock { entries in
            entries.queues[reference] = entries.made
            entries.made += 1
        }
    }

    static func remove(_ reference: UnsafeMutableRawPointer) {
        entries.withLock { _ = $0.queues.removeValue(forKey: reference) }
    }
}
