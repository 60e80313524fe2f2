import Imaging
public import Operations
import Synchronization

/// A stage that works on its thread: decoding, filtering, encoding, writing.
///
/// Cancelling it reaches into the picture library, which lets go within milliseconds.
public class PixelOperation<Output: Sendable>: Operation, PhotoStage, @unchecked Sendable {
    typealias Work = @Sendable (ImagingCancellation) throws(PhotoStageStop) -> Output

    private let work: Work
    private let timeLimit: Duration
    private let current = Mutex(
        (outcome: PhotoStageOutcome<Output>.pending, cancellation: ImagingCancellation?.none))

    init(timeLimit: Duration, _ work: @escaping Work) {
        self.work = work
        self.timeLimit = timeLimit
        super.init()
    }

    /// What has become of it so far.
    public var outcome: PhotoStageOutcome<Output> { current.withLock { $0.outcome } }

    /// Does the work.
    public override func main() {
        // The time limit counts from here, not from the creation.
        let cancellation = ImagingCancellation(deadline: timeLimit)
        current.withLock { $0.cancellation = cancellation }
        // A cancellation that came before the line above found nothing to cancel.
        if isCancelled { cancellation.cancel() }
        let outcome = PhotoStageOutcome { () throws(PhotoStageStop) in try work(cancellation) }
        current.withLock { $0 = (outcome, nil) }
    }

    /// Asks the work to stop.
    public override func cancel() {
        super.cancel()
        current.withLock { $0.cancellation }?.cancel()
    }
}

/// Runs work on pixels and gives its errors the stage they belong to.
func pixelStage<Output>(
    _ stage: PhotoFailure.Stage, _ work: () throws(ImagingError) -> Output
) throws(PhotoStageStop) -> Output {
    do throws(ImagingError) {
        return try work()
    } catch .cancelled {
        throw .cancelled
    } catch {
        throw .failed(
            PhotoFailure(stage: stage, reason: error.description, isRetryable: error.mayPass))
    }
}

extension ImagingError {
    /// Whether the photo, fetched again, may turn out well.
    fileprivate var mayPass: Bool {
        switch self {
        case .tooLarge, .formatNotAllowed, .invalidArgument, .filterFailed, .encodeFailed: false
        case .cancelled, .timedOut, .outOfMemory, .engineUnavailable: true
        case .emptyInput, .unknownFormat, .decodeFailed: true
        }
    }
}
