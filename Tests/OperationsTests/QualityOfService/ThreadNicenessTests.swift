import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations
@testable import OperationsRuntime

#if canImport(Glibc)
import Glibc
#endif

#if os(Linux)
/// The niceness of the threads that run operations. Every process may raise niceness; only root may
/// lower it, so some tests need root and some give up its rights.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ThreadNicenessTests {
    static var isRoot: Bool { geteuid() == 0 }

    static func niceness() -> Int32 { currentNiceness() }

    @Test(arguments: [
        (QualityOfService.background, Int32(10)), (.utility, 5), (.default, 0), (.userInitiated, 0),
    ])
    func blockRunsAtTheNicenessOfItsQuality(quality: QualityOfService, expected: Int32) async {
        let seen = TestRecorder<Int32>()
        let plain = BlockOperation { seen.record(Self.niceness()) }
        let blocks = BlockOperation { seen.record(Self.niceness()) }
        for _ in 0..<3 { blocks.addExecutionBlock { seen.record(Self.niceness()) } }
        let started = ClaimedAloneOperation { seen.record(Self.niceness()) }
        for operation in [plain, blocks, started] {
            operation.qualityOfService = quality
            await OperationQueue().addOperations([operation], waitUntilFinished: true)
        }
        #expect(seen.events == Array(repeating: expected, count: 6))
    }

    /// Those that keep all processors busy are no reason to wait for what is more urgent.
    @Test func urgentWorkDoesNotWaitForBackgroundWork() async {
        let (low, high) = (OperationQueue(), OperationQueue())
        (low.qualityOfService, high.qualityOfService) = (.background, .userInteractive)
        let isOver = Atomic(false)
        let (started, ran) = (Tally(), Signal())
        let hasRun = await onThread {
            for _ in 0..<2 * WorkerPool.cores {
                low.addOperation {
                    started.increment()
                    while !isOver.load(ordering: .relaxed) {}
                }
            }
            while started.value < WorkerPool.cores { yieldProcessor() }
            high.addOperation { ran.send() }
            defer { isOver.store(true, ordering: .relaxed) }
            return ran.wait()
        }
        #expect(hasRun)
        await low.drain()
    }

    @Test func whatIsPromotedWhileAnotherOneRunsCountsAtTheNextClaim() async {
        let queue = serialQueue()
        let (started, go) = (Signal(), Signal())
        let seen = TestRecorder<Int32>()
        let promoted = BlockOperation { seen.record(currentNiceness()) }
        promoted.qualityOfService = .background
        let last = BlockOperation {}
        last.qualityOfService = .userInteractive
        await onThread {
            queue.addOperation {
                started.send()
                go.wait()
            }
            started.wait()
            queue.addOperation(promoted)
            queue.addOperation(last)
            go.send()
        }
        await queue.drain()
        #expect(seen.events.count == 1 && seen.events.allSatisfy { $0 <= 0 })
        #expect(promoted.effectiveQualityOfService == .userInteractive)
    }

    @Test func threadPriorityComesBeforeQuality() async {
        let seen = TestRecorder<Int32>()
        let operation = BlockOperation { seen.record(Self.niceness()) }
        operation.threadPriority = 0.25
        operation.qualityOfService = .background
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(seen.events == [10])
        operation.threadPriority = 0.1
        let other = BlockOperation { seen.record(Self.niceness()) }
        other.threadPriority = 0
        other.qualityOfService = .utility
        await OperationQueue().addOperations([other], waitUntilFinished: true)
        #expect(seen.events == [10, 19])
    }

    @Test func theQueuesQualityCountsAndEachOperationGetsItsOwn() async {
        let seen = TestRecorder<[Int32]>()
        let queue = serialQueue()
        queue.qualityOfService = .background
        queue.isSuspended = true
        for index in 0..<400 {
            let operation = BlockOperation { seen.record([Int32(index), Self.niceness()]) }
            // The later ones would promote the earlier ones.
            operation.qualityOfService = index < 200 ? .utility : .background
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(seen.events == (0..<400).map { [$0, $0 < 200 ? 5 : 10] })
    }

    @Test func operationsThatAreWaitingAreRaisedWithTheirQueue() async {
        let seen = TestRecorder<Int32>()
        let queue = suspendedQueue()
        for _ in 0..<50 { queue.addOperation { seen.record(Self.niceness()) } }
        queue.qualityOfService = .background
        for _ in 0..<50 { queue.addOperation { seen.record(Self.niceness()) } }
        queue.qualityOfService = .utility
        queue.isSuspended = false
        await queue.drain()
        #expect(seen.events == Array(repeating: 5, count: 100))
    }

    @Test func operationBehindRaisesThoseAheadOfIt() async {
        let seen = TestRecorder<Int32>()
        let queue = suspendedQueue()
        for _ in 0..<50 {
            let operation = BlockOperation { seen.record(Self.niceness()) }
            operation.qualityOfService = .background
            queue.addOperation(operation)
        }
        let operation = BlockOperation {}
        operation.qualityOfService = .userInitiated
        queue.addOperation(operation)
        queue.isSuspended = false
        await queue.drain()
        #expect(seen.events == Array(repeating: 0, count: 50))
    }

    @Test func promotionMakesNothingSlower() async {
        let seen = TestRecorder<Int32>()
        let queue = suspendedQueue()
        queue.addOperation { seen.record(Self.niceness()) }
        let last = BlockOperation { seen.record(Self.niceness()) }
        last.qualityOfService = .background
        let first = BlockOperation { seen.record(Self.niceness()) }
        last.addDependency(first)
        queue.addOperation(last)
        #expect(first.effectiveQualityOfService == .background)
        await OperationQueue().addOperations([first], waitUntilFinished: true)
        queue.isSuspended = false
        await queue.drain()
        #expect(seen.events.sorted() == [0, 0, 10])
    }

    @Test(arguments: [true, false], [true, false])
    func operationThatIsPromotedWhileItRunsKeepsItsThread(
        usesFastPath: Bool, isObserved: Bool
    ) async {
        let (begun, promoted, seen) = (Signal(), Signal(), TestRecorder<Int32>())
        let queue = serialQueue()
        queue.qualityOfService = .background
        let work: @Sendable () -> Void = {
            seen.record(Self.niceness())
            begun.send()
            promoted.wait()
            seen.record(Self.niceness())
        }
        let operation = usesFastPath ? BlockOperation(block: work) : ClaimedAloneOperation(work)
        // Workers claim each operation alone while the count is observed.
        let observation = isObserved ? queue.observe(\.operationCount) { _, _ in } : nil
        defer { observation?.invalidate() }
        queue.addOperation(operation)
        await begun.asyncWait()
        queue.qualityOfService = .utility
        #expect(operation.effectiveQualityOfService == .utility)
        queue.addOperation { seen.record(Self.niceness()) }
        promoted.send()
        await operation.waitUntilFinished()
        await queue.drain()
        queue.qualityOfService = .default
        queue.addOperation { seen.record(Self.niceness()) }
        await queue.drain()
        #expect(seen.events == [10, 10, 5, 0])
    }

    /// In a process of its own, where no test scheduler has ever existed: its tasks begin on any
    /// worker.
    @Test func asyncBodyHasTheNicenessOfItsQuality() async {
        await #expect(processExitsWith: .success) {
            let (begun, promoted, seen) = (Signal(), Signal(), TestRecorder<Int32>())
            let operation = TypedOperation<Void> {
                seen.record(ThreadNicenessTests.niceness())
                await Task.yield()
                seen.record(ThreadNicenessTests.niceness())
                begun.send()
                _ = await promoted.arrives()
                // The body stays on its thread as long as it is not suspended. It may not be, here
                // or in one yield: what resumes it can come before the suspension.
                var yields = 0
                while ThreadNicenessTests.niceness() == 10, yields < 10_000 {
                    await Task.yield()
                    yields += 1
                }
                seen.record(ThreadNicenessTests.niceness())
            }
            operation.qualityOfService = .background
            OperationQueue().addOperation(operation)
            await begun.asyncWait()
            operation.qualityOfService = .utility
            promoted.send()
            await operation.waitUntilFinished()
            #expect(seen.events == [10, 10, 5])
        }
    }

    @Test func workersOfEveryNicenessAreReused() async {
        let seen = TestRecorder<Int32>()
        let threads = TestRecorder<Int32>()
        let queue = serialQueue()
        var expected: [Int32] = []
        for index in 0..<60 {
            let work: @Sendable () -> Void = {
                seen.record(Self.niceness())
                threads.record(ThreadProbe()?.id ?? 0)
            }
            let operation =
                index % 3 == 0 ? ClaimedAloneOperation(work) : BlockOperation(block: work)
            operation.qualityOfService = index % 2 == 0 ? .background : .default
            expected.append(index % 2 == 0 ? 10 : 0)
            await queue.addOperations([operation], waitUntilFinished: true)
        }
        #expect(seen.events == expected)
        // Other tests use workers at the same time.
        #expect(Set(threads.events).count < 30)
        // A completion block has no quality of its own.
        let called = Signal()
        let last = BlockOperation {}
        last.qualityOfService = .utility
        last.completionBlock = {
            seen.record(Self.niceness())
            called.send()
        }
        queue.addOperation(last)
        await called.asyncWait()
        #expect(seen.events.last == 0)
    }

    @Test func claimsHaveOperationsOfOneNiceness() async {
        let (count, wrong) = (Tally(), Tally())
        let queue = OperationQueue()
        for round in 0..<200 {
            var operations: [Operation] = []
            for index in 0..<200 {
                let expected: Int32 = index >= 190 && round % 2 == 0 ? 10 : 0
                let operation = BlockOperation {
                    if Self.niceness() != expected { wrong.increment() }
                    count.increment()
                }
                if expected == 10 { operation.qualityOfService = .background }
                operations.append(operation)
            }
            await queue.addOperations(operations, waitUntilFinished: round % 20 == 19)
        }
        await queue.drain()
        #expect(count.value == 40_000)
        #expect(wrong.value == 0)
    }

    /// Each worker of the class takes the next operation; no thread is made for each one.
    @Test func threadsAreNotSpentOnWorkThatIsAllNice() async {
        await #expect(processExitsWith: .success) {
            let threads = TestRecorder<Int32>()
            let queue = serialQueue()
            queue.qualityOfService = .background
            for _ in 0..<1_000 { queue.addOperation { threads.record(ThreadProbe()?.id ?? 0) } }
            await queue.drain()
            let count = Set(threads.events).count
            #expect(count <= WorkerPool.cores + 1)
            exit(count <= WorkerPool.cores + 1 ? 0 : 1)
        }
    }

    // MARK: With the right to lower niceness

    @Test(.enabled(if: isRoot)) func userInteractiveWorkIsFavored() async {
        let seen = TestRecorder<Int32>()
        let operation = BlockOperation { seen.record(Self.niceness()) }
        operation.qualityOfService = .userInteractive
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(seen.events == [-5])
    }

    // MARK: Without

    @Test(.enabled(if: isRoot)) func unprivilegedProcessGetsWhatItMay() async {
        await #expect(processExitsWith: .success) {
            guard setuid(65_534) == 0 else { exit(9) }
            let seen = TestRecorder<[Int32]>()
            let queue = serialQueue()
            queue.isSuspended = true
            // Each promotes those ahead, so the qualities fall.
            let qualities: [QualityOfService] = [
                .userInteractive, .userInitiated, .utility, .background,
            ]
            for (index, quality) in qualities.enumerated() {
                for _ in 0..<50 {
                    let operation = BlockOperation {
                        seen.record([Int32(index), ThreadNicenessTests.niceness()])
                    }
                    operation.qualityOfService = quality
                    queue.addOperation(operation)
                }
            }
            queue.isSuspended = false
            await queue.drain()
            let niceness: [Int32] = [0, 0, 5, 10]
            var expected: [[Int32]] = []
            for index in 0..<4 {
                expected += Array(repeating: [Int32(index), niceness[index]], count: 50)
            }
            #expect(seen.events == expected)
            exit(seen.events == expected ? 0 : 1)
        }
    }

    /// The system refuses every further thread. The workers that exist run the operations, at the
    /// niceness that they have.
    @Test(.enabled(if: isRoot)) func operationsRunWithoutThreadsOfTheirNiceness() async {
        await #expect(processExitsWith: .success) {
            startTestThread {
                let queue = OperationQueue()
                let seen = TestRecorder<Int32>()
                queue.addOperations([BlockOperation {}], waitUntilFinished: true)
                guard setuid(65_534) == 0 else { exit(9) }
                var limit = rlimit(rlim_cur: 1, rlim_max: 1)
                guard setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0 else {
                    exit(8)
                }
                let background = BlockOperation { seen.record(ThreadNicenessTests.niceness()) }
                background.qualityOfService = .background
                let own = BlockOperation { seen.record(ThreadNicenessTests.niceness()) }
                own.threadPriority = 0
                queue.addOperations([background], waitUntilFinished: true)
                queue.addOperations([own], waitUntilFinished: true)
                exit(seen.events == [0, 0] ? EXIT_SUCCESS : EXIT_FAILURE)
            }
            while true { pause() }
        }
    }
}

/// Not a plain operation: a worker claims it alone and calls `start()`.
private final class ClaimedAloneOperation: BlockOperation, @unchecked Sendable {
    convenience init(_ work: @escaping @Sendable () -> Void) { self.init(block: work) }
}

extension Signal {
    /// As `wait()`, for tasks.
    fileprivate func asyncWait() async {
        await withCheckedContinuation { continuation in
            let isStarted = startThread {
                wait()
                continuation.resume()
            }
            if !isStarted { continuation.resume() }
        }
    }
}
#endif
