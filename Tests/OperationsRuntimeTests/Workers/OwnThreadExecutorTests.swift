import OperationsRuntime
import OperationsTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.timeLimit(.minutes(5)))
struct OwnThreadExecutorTests {
    private static func thread() -> UInt { UInt(bitPattern: pthread_self().hashValue) }

    @Test func aTaskReturnsToTheThreadAfterEachSuspension() async {
        let executor = OwnThreadExecutor(named: "test")
        let task = Task(executorPreference: executor) {
            let first = Self.thread()
            // On a thread of Swift's own pool.
            let other = await Task.detached { Self.thread() }.value
            return (first, other, Self.thread())
        }
        let (first, other, last) = await task.value
        #expect(first == last && first != other)
    }

    @Test func anExecutorNeedsNoOwnerButItsTask() async {
        weak var released: OwnThreadExecutor?
        let task: Task<Int, Never>
        do {
            let executor = OwnThreadExecutor(named: "test")
            released = executor
            task = Task(executorPreference: executor) {
                await Task.yield()
                return 1
            }
        }
        #expect(await task.value == 1)
        #expect(await comesTrue { released == nil })
    }
}
