import OperationsTestSupport
import PhotoImaging
import Synchronization
import Testing

@Suite(.ownThreads, .serialized) struct CancellationTests {
    /// A picture so large that no machine finishes before a cancellation directly after the start.
    private static let large = try? Pictures.colorful(width: 5000, height: 4000)

    private func cancelled() -> ImagingCancellation {
        let cancellation = ImagingCancellation()
        cancellation.cancel()
        return cancellation
    }

    @Test func cancelledWorkDoesNotStart() throws {
        let picture = try Pictures.colorful(width: 8, height: 8)
        let file = try ImageEngine.encode(picture, as: .png).bytes
        #expect(throws: ImagingError.cancelled) {
            try ImageEngine.decode(file, cancellation: cancelled())
        }
        #expect(throws: ImagingError.cancelled) {
            try ImageEngine.apply([.blur()], to: picture, cancellation: cancelled())
        }
        #expect(throws: ImagingError.cancelled) {
            try ImageEngine.encode(picture, as: .jpeg, cancellation: cancelled())
        }
    }

    @Test func pastDeadlineTimesOut() throws {
        let file = try Pictures.file(.png)
        let late = ImagingCancellation(deadline: .seconds(-1))
        #expect(throws: ImagingError.timedOut) {
            try ImageEngine.decode(file, cancellation: late)
        }
        #expect(!late.isCancelled)
        late.cancel()
        #expect(throws: ImagingError.cancelled) { try late.check() }
    }

    @Test(arguments: [Duration.seconds(3600), .seconds(Int64.max)])
    func distantDeadlineHasNoEffect(deadline: Duration) throws {
        let file = try Pictures.file(.png)
        let cancellation = ImagingCancellation(deadline: deadline)
        #expect(try ImageEngine.decode(file, cancellation: cancellation).size.width == 120)
    }

    @Test func deadlineStopsRunningWork() throws {
        let picture = try #require(Self.large)
        let soon = ImagingCancellation(deadline: .milliseconds(20))
        #expect(throws: ImagingError.timedOut) {
            try ImageEngine.apply(
                [.blur(radius: 10), .tiltShift()], to: picture, cancellation: soon)
        }
    }

    /// Repeats the work on another thread until the work throws, cancels the work from this thread
    /// once the other thread runs, and returns the error.
    private func cancelFromHere(
        _ work: @escaping @Sendable (ImagingCancellation) throws(ImagingError) -> Void
    ) -> ImagingError? {
        let cancellation = ImagingCancellation()
        let thrown = Mutex<ImagingError?>(nil)
        let (begun, ended) = (Signal(), Signal())
        startTestThread {
            begun.send()
            do throws(ImagingError) {
                while true { try work(cancellation) }
            } catch {
                thrown.withLock { $0 = error }
            }
            ended.send()
        }
        begun.wait()
        cancellation.cancel()
        ended.wait()
        return thrown.withLock { $0 }
    }

    @Test(arguments: [ImageFormat.jpeg, .png, .webp, .tiff])
    func decodingIsCancelledFromAnotherThread(format: ImageFormat) throws {
        let file = try ImageEngine.encode(#require(Self.large), as: format).bytes
        let error = cancelFromHere { (cancellation) throws(ImagingError) in
            _ = try ImageEngine.decode(file, cancellation: cancellation)
        }
        #expect(error == .cancelled)
    }

    @Test(arguments: [ImageFilter.sepia(), .blur(radius: 20), .tiltShift(), .vignette()])
    func filteringIsCancelledFromAnotherThread(filter: ImageFilter) throws {
        let picture = try #require(Self.large)
        let error = cancelFromHere { (cancellation) throws(ImagingError) in
            _ = try ImageEngine.apply([filter], to: picture, cancellation: cancellation)
        }
        #expect(error == .cancelled)
    }

    @Test(arguments: [ImageFormat.jpeg, .png, .tiff])
    func encodingIsCancelledFromAnotherThread(format: ImageFormat) throws {
        let picture = try #require(Self.large)
        let error = cancelFromHere { (cancellation) throws(ImagingError) in
            _ = try ImageEngine.encode(picture, as: format, cancellation: cancellation)
        }
        #expect(error == .cancelled)
    }

    @Test func cancellationsAreIndependent() throws {
        let file = try Pictures.file(.jpeg)
        let mine = ImagingCancellation()
        cancelled().cancel()
        #expect(try ImageEngine.decode(file, cancellation: mine).size.width == 120)
        #expect(!mine.isCancelled)
    }
}
