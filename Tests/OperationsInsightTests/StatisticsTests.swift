import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations
@testable import OperationsInsight

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DurationHistogramTests {
    @Test func everyValueLiesInItsBucket() {
        for bit in 0..<48 {
            let power = UInt64(1) << UInt64(bit)
            for value in [power, power + 1, power - 1, power + power / 2] {
                let bucket = DurationHistogram.bucket(of: value)
                #expect(DurationHistogram.start(of: bucket) <= value)
                if bucket + 1 < DurationHistogram.bucketCount {
                    #expect(DurationHistogram.start(of: bucket + 1) > value)
                }
            }
        }
        #expect(DurationHistogram.bucket(of: .max) == DurationHistogram.bucketCount - 1)
        let starts = (0..<DurationHistogram.bucketCount).map(DurationHistogram.start)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func emptyHistogramHasNoValues() {
        var histogram = DurationHistogram()
        #expect(histogram.count == 0 && histogram.mean == nil && histogram.min == nil)
        #expect(histogram.max == nil && histogram.percentile(50) == nil)
        #expect(histogram.description == "nothing")
        histogram.add(.seconds(Int64.max))
        #expect(histogram.max == .nanoseconds(Int64.max))
    }

    @Test func meanAndExtremesAreExactAndPercentilesNearlySo() {
        var histogram = DurationHistogram()
        for value in 1...10_000 { histogram.add(.microseconds(value)) }
        #expect(histogram.count == 10_000)
        #expect(histogram.mean == .nanoseconds(5_000_500))
        #expect(histogram.min == .microseconds(1) && histogram.max == .microseconds(10_000))
        for percent in [1.0, 10, 50, 90, 99, 99.9] {
            let expected = Duration.microseconds(percent * 100)
            let found = histogram.percentile(percent) ?? .zero
            #expect(abs(found / expected - 1) < 1.0 / 30)
        }
        #expect(histogram.percentile(0) == .microseconds(1))
        #expect(histogram.percentile(100) == .microseconds(10_000))
        for percent in [-5, -Double.infinity, .nan] {
            #expect(histogram.percentile(percent) == histogram.percentile(0))
        }
    }

    @Test func mergingEqualsAddingAllValues() {
        var (low, high, all) = (DurationHistogram(), DurationHistogram(), DurationHistogram())
        for value in 1...500 {
            low.add(.nanoseconds(value))
            high.add(.milliseconds(value))
            all.add(.nanoseconds(value))
            all.add(.milliseconds(value))
        }
        low.merge(high)
        #expect(low == all)
        var empty = DurationHistogram()
        empty.merge(all)
        empty.merge(DurationHistogram())
        #expect(empty == all)
    }

    @Test func durationsAreAbbreviated() {
        let texts: [(Duration, String)] = [
            (.nanoseconds(7), "7 ns"), (.nanoseconds(1_250), "1.25 µs"),
            (.microseconds(1_005), "1.00 ms"), (.milliseconds(12_340), "12.3 s"),
            (.milliseconds(340), "340 ms"), (.seconds(-1), "0 ns"), (.seconds(4_000), "4000 s"),
        ]
        for (duration, text) in texts { #expect(duration.inShort == text) }
        var histogram = DurationHistogram()
        histogram.add(.milliseconds(2))
        #expect(
            histogram.description
                == "count 1, mean 2.00 ms, min 2.00 ms, 50 % 2.00 ms, 90 % 2.00 ms, 99 % 2.00 ms, max 2.00 ms"
        )
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct StatisticsTests {
    private struct Failed: Error {}

    @Test func nothingIsMeasuredUnlessRequested() async {
        let queue = OperationQueue()
        #expect(!queue.measuresOperations)
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        #expect(queue.statistics == OperationQueueStatistics())
        queue.measuresOperations = false
        #expect(queue.existingObserver(OperationMeter.self) == nil)
    }

    @Test func eachEndIsCountedOnce() async {
        let queue = suspendedQueue()
        queue.measuresOperations = true
        #expect(queue.measuresOperations)
        let blocks = (0..<500).map { _ in BlockOperation {} }
        let others = (0..<50).map { _ in Operation() }
        let failing = (0..<5).map { _ in TypedOperation<Void> { throw Failed() } }
        let working = (0..<7).map { _ in TypedOperation<Void> { await Task.yield() } }
        await queue.addOperations(
            blocks + others + failing + working, waitUntilFinished: false)
        for operation in blocks.prefix(20) { operation.cancel() }
        for operation in others.prefix(3) { operation.cancel() }
        queue.addBarrierBlock {}
        queue.isSuspended = false
        await queue.drain()
        #expect(failing.allSatisfy { $0.error is Failed })
        let statistics = queue.statistics
        #expect(statistics.addedCount == 562)
        #expect(statistics.cancelledCount == 23)
        #expect(statistics.failedCount == 5)
        #expect(statistics.finishedCount == 562 - 23 - 5)
        #expect(statistics.endedCount == 562)
        #expect(statistics.waitingTime.count == 562 - 23)
        #expect(statistics.runningTime.count == 562 - 23)
    }

    @Test func everyOperationOfChainIsMeasured() async {
        let queue = suspendedQueue()
        queue.measuresOperations = true
        var chain: [Operation] = []
        for _ in 0..<200 {
            let operation = BlockOperation {}
            if let last = chain.last { operation.addDependency(last) }
            chain.append(operation)
        }
        await queue.addOperations(chain, waitUntilFinished: false)
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.statistics.waitingTime.count == 200)
        #expect(queue.statistics.finishedCount == 200)
    }

    @Test func operationsAddedBeforeMeasuringAreCounted() async {
        let queue = suspendedQueue()
        await queue.addOperations([BlockOperation {}, Operation()], waitUntilFinished: false)
        queue.measuresOperations = true
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.statistics.addedCount == 2 && queue.statistics.finishedCount == 2)
        #expect(queue.statistics.waitingTime.count == 2)
        queue.measuresOperations = false
        let ended = queue.statistics
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        await queue.drain()
        #expect(queue.statistics == ended)
        queue.measuresOperations = true
        #expect(queue.statistics == OperationQueueStatistics())
        await queue.addOperations([BlockOperation {}], waitUntilFinished: true)
        await queue.drain()
        #expect(queue.statistics.addedCount == 1)
    }

    @Test func measuredTimesMatchOperation() async throws {
        let queue = serialQueue()
        queue.measuresOperations = true
        let time = TestRecorder<Duration>()
        let slow = BlockOperation {
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(20) {}
            time.record(ContinuousClock.now - start)
        }
        let behind = BlockOperation {}
        await queue.addOperations([slow, behind], waitUntilFinished: true)
        await queue.drain()
        let statistics = queue.statistics
        // The second operation was ready all the time.
        let waited = statistics.waitingTime.max ?? .zero
        let ran = statistics.runningTime.max ?? .zero
        let measured = try #require(time.events.first)
        #expect(waited >= measured && ran >= measured)
        // The first operation waited for no other, and the second one had next to nothing to do.
        let times = [statistics.waitingTime, statistics.runningTime]
        #expect(times.allSatisfy { ($0.min ?? .seconds(1_000)) < ($0.max ?? .zero) })
        #expect(statistics.description.contains("running      2  "))
    }

    @Test func descriptionIsTableOfAllValues() {
        var statistics = OperationQueueStatistics()
        statistics.addedCount = 12
        statistics.finishedCount = 10
        statistics.runningTime.add(.milliseconds(3))
        var both = statistics
        both.merge(statistics)
        #expect(both.addedCount == 24 && both.runningTime.count == 2)
        #expect(
            statistics.description == """
                12 added, 10 finished, 0 cancelled, 0 failed
                         count     mean      min     50 %     90 %     99 %      max
                waiting      0        –        –        –        –        –        –
                running      1  3.00 ms  3.00 ms  3.00 ms  3.00 ms  3.00 ms  3.00 ms
                """)
    }

    @Test func concurrentAdditionsAreCountedExactly() async {
        let queue = OperationQueue()
        queue.measuresOperations = true
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 { queue.addOperation {} }
                }
            }
            group.addTask { for _ in 0..<50 { _ = queue.statistics } }
        }
        await queue.drain()
        #expect(queue.statistics.finishedCount == 2_000)
        #expect(queue.statistics.addedCount == 2_000)
    }
}
