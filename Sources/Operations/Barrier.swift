/// The operation that runs a barrier block; see ``OperationQueue/addBarrierBlock(_:)``.
final class Barrier: BlockOperation, @unchecked Sendable {
    /// The barrier's ticket among the barriers of its queue; guarded by the queue's lock.
    var ticket = 0

    override init() {
        super.init()
        lifecycle.insert(.barrier)
    }
}
