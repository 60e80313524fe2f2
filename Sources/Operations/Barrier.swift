/// What runs a barrier block; see ``OperationQueue/addBarrierBlock(_:)``.
final class Barrier: BlockOperation, @unchecked Sendable {
    override init() {
        super.init()
        update { word in
            word.insert(.barrier)
            return true
        }
    }
}
