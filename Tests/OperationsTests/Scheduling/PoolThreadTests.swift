import Dispatch
import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

#if os(Linux)
/// What the pool's threads are to the rest of the process.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct PoolThreadTests {
    private static let signalsOfFaults = [
        SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF,
    ]

    @Test func threadsHaveNames() async {
        let queue = OperationQueue()
        let name = queue.add { readText("/proc/thread-self/comm") }
        await queue.finished()
        #expect((try? name.result)??.hasPrefix("Operations-") == true)
        #expect(poolThreads().contains { $0.name == "Operations-pool" })
    }

    /// Returns the signals, as the bits of a number, that the thread with this status blocks.
    private static func blockedSignals(_ status: String?) -> UInt64? {
        let line = status?.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        return line.flatMap { UInt64($0.dropFirst(8), radix: 16) }
    }

    @Test func signalsForTheProcessAreNotForThePoolsThreads() async {
        let examined = (1..<Int32(32)).filter { $0 != SIGKILL && $0 != SIGSTOP }
        func mask(_ signals: [Int32]) -> UInt64 {
            signals.reduce(0) { $0 | 1 << UInt64($1 - 1) }
        }
        let expected = mask(examined.filter { !Self.signalsOfFaults.contains($0) })

        // The operations block until all have begun, so each has a worker of its own.
        let queue = OperationQueue()
        let workers = 2 * WorkerPool.cores + 4
        queue.maxConcurrentOperationCount = workers
        let begun = DispatchSemaphore(value: 0)
        let proceed = DispatchSemaphore(value: 0)
        let masks = (0..<workers).map { _ in
            queue.add {
                let status = readText("/proc/thread-self/status")
                begun.signal()
                proceed.wait()
                return Self.blockedSignals(status)
            }
        }
        await onThread { for _ in 0..<workers { begun.wait() } }
        for _ in 0..<workers { proceed.signal() }
        await queue.drain()
        for blocked in masks {
            #expect((try? blocked.result)?.map { $0 & mask(examined) } == expected)
        }

        // A thread has its creator's name until it sets its own, and a thread that the program
        // makes on a worker keeps that name: names alone do not tell the pool's threads. The C
        // library blocks all signals for a moment in a thread that makes another one.
        let isMonitorRight = await comesTrue {
            poolThreads().contains { thread in
                let blocked = Self.blockedSignals(
                    readText("/proc/self/task/\(thread.id)/status"))
                return thread.name == "Operations-pool"
                    && blocked.map { $0 & mask(examined) } == expected
            }
        }
        #expect(isMonitorRight)
    }

    /// Operations that block are made up for although the process has as many files open as it may.
    @Test func blockedWorkersAreMadeUpForWithoutFreeDescriptors() async {
        await #expect(processExitsWith: .success) {
            startTestThread {
                var limit = rlimit(rlim_cur: 0, rlim_max: 0)
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = 0
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let queue = OperationQueue()
                queue.maxConcurrentOperationCount = 100
                let opened = DispatchSemaphore(value: 0)
                let blocked = 2 * WorkerPool.cores + 4
                for _ in 0..<blocked { queue.addOperation { opened.wait() } }
                queue.addOperation { for _ in 0..<blocked { opened.signal() } }
                let isOver = queue.waitUntilAllOperationsAreFinished(within: .seconds(120))
                exit(isOver && fopen("/dev/null", "r") == nil ? EXIT_SUCCESS : EXIT_FAILURE)
            }
            while true { pause() }
        }
    }

    /// Notes whether it goes away on a thread that is neither a worker nor one of the test's.
    private final class Witness: OperationQueue, @unchecked Sendable {
        let strangers: Tally
        init(_ strangers: Tally) {
            self.strangers = strangers
            super.init()
        }
        deinit {
            if ThreadContext.existing == nil { strangers.increment() }
        }
    }

    /// The monitor thread reclaims the claims of queues whose last operation ends at about the
    /// same time.
    @Test func noQueueIsReleasedOnTheMonitorThread() async {
        let strangers = Tally()
        for round in 0..<200 {
            await onThread {
                _ = ThreadContext.current
                let queue = Witness(strangers)
                queue.maxConcurrentOperationCount = 1
                // Short ones first, so that several are claimed at once.
                queue.addOperations(
                    (0..<32).map { _ in BlockOperation {} }, waitUntilFinished: true)
                queue.addOperation {
                    let end = monotonicNanoseconds() + 9_000_000 + UInt64(round) * 20_000
                    while monotonicNanoseconds() < end {}
                }
                queue.addOperation {}
            }
        }
        #expect(strangers.value == 0)
    }
}
#endif
