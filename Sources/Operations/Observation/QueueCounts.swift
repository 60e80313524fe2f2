extension KeyValueObserving where Self: OperationQueue {
    /// The number of unfinished operations, from now on, whenever it changes, for `for await`.
    ///
    /// The first element is the count at the moment when the loop begins. Then each turn of the
    /// loop gets the latest count: counts that came and went while the body of the loop was busy
    /// are left out, so a slow loop never falls behind. To get each count, observe
    /// `operationCount`. The loop ends when its task is cancelled. The loop keeps the queue; all
    /// that the loop needs is released when it ends.
    public var counts: ObservedSequence<Int> {
        ObservedSequence<Int> {
            self.values(of: QueueProperties.operationCount, buffering: .bufferingNewest(1))
        }
    }
}
