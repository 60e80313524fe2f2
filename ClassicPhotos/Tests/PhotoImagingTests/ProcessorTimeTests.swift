import OperationsTestSupport
import PhotoImaging
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

@Suite(.ownThreads, .timeLimit(.minutes(15))) struct ProcessorTimeTests {
    /// The processor time that the calling thread has used.
    private var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Decoding 12 million pixels takes more processor time than 15 ms; reading a header takes much
    /// less.
    @Test(arguments: [ImageFormat.jpeg, .png])
    func decodingRunsOnCallingThread(format: ImageFormat) throws {
        let file = try Pictures.file(format, width: 4000, height: 3000)
        let start = threadTime
        _ = try ImageEngine.decode(file)
        #expect(threadTime - start > .milliseconds(15))
    }

    @Test func rotationRunsOnCallingThread() throws {
        let plain = try Pictures.file(.jpeg, width: 4000, height: 3000)
        let file = JPEGSegments.inserting(JPEGSegments.exif(orientation: 6), into: plain)
        let start = threadTime
        _ = try ImageEngine.decode(file)
        #expect(threadTime - start > .milliseconds(15))
    }

    @Test func timeOutsideCallsDoesNotCount() throws {
        let file = try Pictures.file(.jpeg)
        let limit = Duration.milliseconds(300)
        let cancellation = ImagingCancellation(processorTime: limit)
        // Use more processor time than the limit on this thread, outside any call of the engine.
        let start = threadTime
        while threadTime - start < limit + .milliseconds(50) {}
        let decoded = try ImageEngine.decode(file, cancellation: cancellation)
        #expect(decoded.size.width == 120)
        while threadTime - start < limit * 2 {}
        _ = try ImageEngine.apply([.sepia()], to: decoded, cancellation: cancellation)
    }

    @Test func callsWithOneLimitShareIt() throws {
        let file = try Pictures.file(.jpeg, width: 2000, height: 1500)
        let cancellation = ImagingCancellation(processorTime: .seconds(1))
        let error = #expect(throws: ImagingError.self) {
            while true { _ = try ImageEngine.decode(file, cancellation: cancellation) }
        }
        #expect(error == .timedOut && !cancellation.isCancelled)
    }

    @Test func encoderThreadTimeCounts() throws {
        let picture = try Pictures.colorful(width: 2000, height: 1500)
        let cancellation = ImagingCancellation(processorTime: .milliseconds(500))
        let error = #expect(throws: ImagingError.self) {
            while true {
                _ = try ImageEngine.encode(picture, as: .png, cancellation: cancellation)
            }
        }
        #expect(error == .timedOut)
    }

    @Test func zeroLimitTimesOutBeforeWork() throws {
        let file = try Pictures.file(.png)
        let none = ImagingCancellation(processorTime: .zero)
        #expect(throws: ImagingError.timedOut) {
            try ImageEngine.decode(file, cancellation: none)
        }
    }
}
