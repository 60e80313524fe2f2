import Synchronization

// The niceness of worker threads. A worker keeps the niceness that its last operation needed, and
// changes it when the next operation needs another one. Most programs never cause a change, and few
// cause many.

enum ThreadNiceness {
    /// The niceness of an unchanged thread: that of the process's first thread when the pool was
    /// created.
    static let usual = Atomic<Int32>(0)
}

extension ThreadContext {
    var usualNiceness: Int32 { ThreadNiceness.usual.load(ordering: .relaxed) }

    /// Sets the niceness of this worker to the value that an operation, claimed from a queue,
    /// needs.
    ///
    /// Returns false if the thread is nicer and cannot lower its niceness. Then the worker must
    /// return the operation to the queue, and the worker ends as soon as it has no claimed
    /// operation left.
    func prepare(for operation: Operation, in queue: OperationQueue) -> Bool {
        guard queue.changesThreads, operation.runsOnItsThread else { return true }
        // The quality of service rises four times at most; an override of `threadPriority` may
        // return any number.
        for _ in 0..<8 {
            let wanted = operation.niceness(usual: usualNiceness)
            guard change(to: wanted) else { return false }
            // A thread that promotes the operation after this check finds the operation running,
            // and changes the niceness itself.
            if operation.niceness(usual: usualNiceness) == wanted { break }
        }
        return true
    }

    /// Does the same as `prepare`, for an operation of a batch, which no other thread releases.
    func adjustNiceness(for operation: Unmanaged<Operation>) -> Bool {
        operation._withUnsafeGuaranteedRef { operation in
            change(to: operation.niceness(usual: usualNiceness))
        }
    }

    /// Sets the niceness. Returns false if the thread is nicer than `wanted` and has to stay so.
    func change(to wanted: Int32) -> Bool {
        let wanted = isPriorityRaiseRefused ? max(wanted, usualNiceness) : wanted
        if wanted == niceness { return true }
        if setNiceness(wanted) {
            recordNiceness(wanted)
            return true
        }
        if wanted < usualNiceness {
            isPriorityRaiseRefused = true
            return change(to: usualNiceness)
        }
        cannotRestorePriority = true
        return false
    }

    /// Records the niceness after other code has changed it.
    func refreshNiceness() { recordNiceness(currentNiceness()) }

    private func recordNiceness(_ niceness: Int32) {
        self.niceness = niceness
        hasUnusualNiceness = niceness != usualNiceness
    }
}

/// The kernel's identifier of a thread.
struct ThreadID: Sendable {
    private let id: Int32

    static var current: ThreadID? { currentThreadID.map(ThreadID.init) }

    /// Lowers the niceness of the thread, which must not have ended. Returns false if the thread is
    /// not nicer or if the system refuses.
    func lowerNiceness(to niceness: Int32) -> Bool {
        currentNiceness(ofThread: id) > niceness && setNiceness(niceness, ofThread: id)
    }
}

extension Operation {
    /// Returns the niceness that the thread needs to run the operation.
    func niceness(usual: Int32) -> Int32 {
        let state = status
        if state.has(.fastPath), !state.has(.needsSetup) { return usual }
        let priority = threadPriority
        if priority != 0.5 { return Self.niceness(for: priority) }
        guard QualityOfServiceUse.isOn else { return usual }
        return min(max(usual + state.quality.nicenessOffset, -20), 19)
    }
}
