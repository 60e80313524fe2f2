import Synchronization

// The niceness of worker threads. A worker keeps what its last operation needed, and changes when the next
// one needs another: most programs never do, and few do often.

enum ThreadNiceness {
    /// Of threads that nobody has changed: the process's, when the pool was made.
    static let usual = Atomic<Int32>(0)
}

extension ThreadContext {
    var usualNiceness: Int32 { ThreadNiceness.usual.load(ordering: .relaxed) }

    /// Sees to it that this worker is as nice as an operation needs that it has taken from a queue.
    ///
    /// False if it is nicer and cannot become less so. Then it must give the operation back, and it ends
    /// when it has nothing in hand any more.
    func prepare(for operation: Operation, in queue: OperationQueue) -> Bool {
        guard queue.changesThreads, operation.runsOnItsThread else { return true }
        // Its quality rises four times at most; an override of `threadPriority` may say anything.
        for _ in 0..<8 {
            let wanted = operation.niceness(usual: usualNiceness)
            guard change(to: wanted) else { return false }
            // Whoever promotes it after this look, and finds it running, sees to the thread.
            if operation.niceness(usual: usualNiceness) == wanted { break }
        }
        return true
    }

    /// As `prepare`, for an operation of a batch, which nobody else lets go of.
    func isFit(for operation: Unmanaged<Operation>) -> Bool {
        operation._withUnsafeGuaranteedRef { operation in
            change(to: operation.niceness(usual: usualNiceness))
        }
    }

    /// False if the thread is nicer and has to stay so.
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

    /// Somebody else has changed it.
    func noticeNiceness() { recordNiceness(currentNiceness()) }

    private func recordNiceness(_ niceness: Int32) {
        self.niceness = niceness
        hasUnusualNiceness = niceness != usualNiceness
    }
}

/// The kernel's name for a thread.
struct ThreadID: Sendable {
    private let id: Int32

    static var current: ThreadID? { currentThreadID.map(ThreadID.init) }

    /// Makes the thread, which must not have ended, less nice; false if it is not nicer or that is refused.
    func favour(with niceness: Int32) -> Bool {
        currentNiceness(ofThread: id) > niceness && setNiceness(niceness, ofThread: id)
    }
}

extension Operation {
    /// What the thread that runs it should have.
    func niceness(usual: Int32) -> Int32 {
        let word = status
        if word.has(.fastPath), !word.has(.needsSetup) { return usual }
        let priority = threadPriority
        if priority != 0.5 { return Self.niceness(for: priority) }
        guard QualityOfServiceUse.isOn else { return usual }
        return min(max(usual + word.quality.nicenessOffset, -20), 19)
    }
}
