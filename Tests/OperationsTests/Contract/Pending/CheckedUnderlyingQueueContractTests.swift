#if OPERATIONS_CONTRACT_PENDING
import Dispatch
import Operations
import Testing

/// The throwing twin of setting an underlying queue: Q16, B14.
@Suite(.timeLimit(.minutes(1)))
struct CheckedUnderlyingQueueContractTests {
    @Test("Q16, B14: a busy queue, and the main dispatch queue, throw")
    func anUnderlyingQueueThatCannotBe() async throws {
        let queue = suspendedQueue()
        queue.name = "Download queue"
        let underlying = DispatchQueue(label: "underlying")
        queue.addOperation {}
        let busy = Checked.message { try queue.setUnderlyingQueueChecked(underlying) }
        #expect(busy?.contains("Download queue") == true)
        #expect(queue.underlyingQueue == nil)
        queue.isSuspended = false
        await queue.drain()
        let main = Checked.message { try queue.setUnderlyingQueueChecked(.main) }
        #expect(main?.contains("Download queue") == true)
        try queue.setUnderlyingQueueChecked(underlying)
        #expect(queue.underlyingQueue === underlying)
    }
}
#endif
