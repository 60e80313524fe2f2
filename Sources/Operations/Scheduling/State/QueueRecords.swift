/// The records that a queue keeps for its observers: of what comes, of what leaves, and of what its
/// blocks do.
///
/// A value without locks: the queue's lock guards the state that it is a part of.
struct QueueRecords {
    /// The recorder of changes; set when the queue is first observed.
    var recorder: (any QueueRecorder)?
    /// Whether observers must be notified of each operation that arrives or leaves. While this is
    /// set, each operation leaves by itself, so that each change is reported when it happens.
    private(set) var notifiesEach = false
    /// Whether the queue has work to do around each operation; see `Instrumentation`. While this is
    /// set, each block gets its operation when it is claimed, at the latest.
    var isInstrumented = false
    /// The mark of operations for blocks that were added before the queue was observed; 0 if it is
    /// not observed.
    var markOfBlocks: UInt64 = 0
    /// The operations of claims that had finished when ``notifiesEach`` was set.
    private var alreadyGone: Set<ObjectIdentifier> = []

    /// The number of operations that are still in the queue, and whose end was never recorded.
    var alreadyGoneCount: Int { alreadyGone.count }

    func isAlreadyGone(_ operation: Operation) -> Bool {
        alreadyGone.contains(ObjectIdentifier(operation))
    }

    // MARK: Each operation

    /// Starts to record each operation that arrives or leaves.
    ///
    /// - Parameter finished: the operations that have finished in claims and have not left.
    mutating func beginNotifyingEach(besides finished: [Operation]) {
        notifiesEach = true
        for operation in finished { alreadyGone.insert(ObjectIdentifier(operation)) }
    }

    mutating func endNotifyingEach() {
        notifiesEach = false
        alreadyGone = []
    }

    /// Records that an operation has come, unless it is a barrier. Returns the recorder that has to
    /// notify observers; nil if nothing was recorded.
    func arrives(_ operation: Operation) -> (any QueueRecorder)? {
        guard notifiesEach, !operation.status.has(.barrier) else { return nil }
        return record(.arrival(operation))
    }

    /// Records that an operation leaves, unless it is a barrier, or had finished before anybody
    /// wanted to know.
    mutating func leaves(_ operation: Operation) -> (any QueueRecorder)? {
        guard notifiesEach, !operation.status.has(.barrier),
            alreadyGone.remove(ObjectIdentifier(operation)) == nil
        else { return nil }
        return record(.departure(operation))
    }

    func record(_ change: RecordedQueueChange) -> (any QueueRecorder)? {
        recorder?.record(change)
        return recorder
    }
}
