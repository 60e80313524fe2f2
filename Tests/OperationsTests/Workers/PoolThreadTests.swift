import Dispatch
import TestSupport
import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

#if os(Linux)
func readText(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var text: [UInt8] = []
    while case let byte = fgetc(file), byte >= 0 { text.append(UInt8(byte)) }
    return String(decoding: text, as: UTF8.self)
}

/// The threads of the pool as the kernel lists them.
func poolThreads() -> [(id: Int, name: String)] {
    guard let folder = opendir("/proc/self/task") else { return [] }
    defer { closedir(folder) }
    var threads: [(id: Int, name: String)] = []
    while let entry = readdir(folder) {
        let number = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            Int(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
        guard let number, let name = readText("/proc/self/task/\(number)/comm"),
            name.hasPrefix("Operations-")
        else { continue }
        threads.append((number, String(name.dropLast())))
    }
    return threads
}

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

    @Test func signalsForTheProcessAreNotForThePoolsThreads() async {
        let queue = OperationQueue()
        await queue.add {}.finished()
        let looked = (1..<Int32(32)).filter { $0 != SIGKILL && $0 != SIGSTOP }
        func mask(_ signals: [Int32]) -> UInt64 {
            signals.reduce(0) { $0 | 1 << UInt64($1 - 1) }
        }
        let expected = mask(looked.filter { !Self.signalsOfFaults.contains($0) })
        #expect(!poolThreads().isEmpty)
        // The C library blocks all for a moment in a thread that begins, makes another one, or
        // ends.
        let areRight = await comesTrue {
            poolThreads().allSatisfy { thread in
                guard let status = readText("/proc/self/task/\(thread.id)/status"),
                    let line = status.split(separator: "\n").first(where: {
                        $0.hasPrefix("SigBlk:")
                    }), let blocked = UInt64(line.dropFirst(8), radix: 16)
                else { return true }
                return blocked & mask(looked) == expected
            }
        }
        #expect(areRight)
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
                let blocked = 2 * WorkerPool.shared.cores + 4
                for _ in 0..<blocked { queue.addOperation { opened.wait() } }
                queue.addOperation { for _ in 0..<blocked { opened.signal() } }
                let isOver = queue.waitUntilAllOperationsAreFinished(timeout: .seconds(120))
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

    /// The monitor thread reclaims the batches of queues whose last operation ends at about the
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
