import Operations
import OperationsTestSupport
import Testing

/// The property itself, which queues read and never write (section 2.4, Q14).
///
/// The rules about the effective quality are in `EffectiveQualityOfServiceContractTests`.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QualityOfServiceContractTests {
    @Test("2.4: default unless set, for operations and queues")
    func qualityIsDefaultUnlessSet() {
        #expect(Operation().qualityOfService == .default)
        #expect(BlockOperation {}.qualityOfService == .default)
        #expect(OperationQueue().qualityOfService == .default)
        #expect(OperationQueue.main.qualityOfService == .userInteractive)
    }

    @Test(
        "2.4: every value can be set and read, before and after adding",
        arguments: QualityOfService.allCases)
    func everyValueCanBeSet(service: QualityOfService) async {
        let queue = suspendedQueue()
        queue.qualityOfService = service
        #expect(queue.qualityOfService == service)
        let (early, late) = (Operation(), Operation())
        early.qualityOfService = service
        queue.addOperation(early)
        queue.addOperation(late)
        late.qualityOfService = service
        #expect(early.qualityOfService == service && late.qualityOfService == service)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("2.4: no promotion writes the property: not by a queue, a dependent or a later operation")
    func promotionsDoNotChangeTheProperty() async {
        let queue = suspendedQueue()
        let (unset, set, urgent) = (Operation(), Operation(), Operation())
        set.qualityOfService = .background
        urgent.qualityOfService = .userInteractive
        urgent.addDependency(set)
        queue.qualityOfService = .userInitiated
        await queue.addOperations([unset, set, urgent], waitUntilFinished: false)
        #expect(unset.qualityOfService == .default)
        #expect(set.qualityOfService == .background)
        queue.qualityOfService = .userInteractive
        #expect(set.qualityOfService == .background)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("2.4, Q14: a block gets the queue's value when it is added, and keeps it")
    func blockGetsTheQueuesPresentQuality() async {
        let queue = suspendedQueue()
        queue.qualityOfService = .background
        queue.addOperation {}
        queue.qualityOfService = .userInitiated
        queue.addOperation {}
        #expect(queue.operations.map(\.qualityOfService) == [.background, .userInitiated])
        queue.isSuspended = false
        await queue.drain()
    }
}
