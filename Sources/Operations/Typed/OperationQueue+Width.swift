extension _OperationQueueMembers {
    /// How many operations may run at the same time, as
    /// ``OperationQueue/init(name:width:order:file:line:)`` takes it.
    ///
    /// ```swift
    /// queue.width = 4
    /// ```
    ///
    /// The property is ``OperationQueue/maxConcurrentOperationCount`` under a shorter name.
    public var width: Int {
        get { maxConcurrentOperationCount }
        set { maxConcurrentOperationCount = newValue }
    }
}
