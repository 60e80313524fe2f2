#if PhotoPipeline
import PhotoImaging
public import Operations

// The stages of a photo are operations with results: an original, pixels, a file. Each stage takes
// its typed input from its dependency, and runs only if the dependency succeeded. The failure of a
// stage is the failure of all later stages.

/// The outcome of a stage.
public enum PhotoStageOutcome<Output: Sendable>: Sendable {
    /// The stage has not finished.
    case pending
    /// The stage produced its output.
    case produced(Output)
    /// The stage or an earlier stage failed.
    case failed(PhotoFailure)
    /// The stage or an earlier stage was cancelled.
    case cancelled
}

/// The reason why a stage ends without output.
public enum PhotoStageStop: Error, Sendable, Equatable {
    /// The photo failed.
    case failed(PhotoFailure)
    /// The work on the photo was cancelled.
    case cancelled
}

extension PhotoStageStop {
    /// The reason behind an error of a stage, which may be the failure of an earlier stage.
    @_spi(ClassicPhotos) public init(_ error: any Error) {
        var cause = error
        if case .dependencyFailed(_, let failure)? = (error as? OperationCancellation)?.reason {
            cause = failure
        }
        // Operations and tasks have no other errors than their cancellation.
        self = cause as? PhotoStageStop ?? .cancelled
    }
}

extension TypedOperation {
    /// The outcome of the stage so far; does not change after the stage has finished.
    public var outcome: PhotoStageOutcome<Output> {
        do {
            return .produced(try result)
        } catch OperationResultError.notFinished {
            return .pending
        } catch {
            switch PhotoStageStop(error) {
            case .failed(let failure): return .failed(failure)
            case .cancelled: return .cancelled
            }
        }
    }
}

/// Runs work on a photo and gives its error the type of stages.
func stage<Value: Sendable>(
    _ body: @Sendable () async throws -> Value
) async throws(PhotoStageStop) -> Value {
    do { return try await body() } catch { throw PhotoStageStop(error) }
}

/// The limits of processor time, which the work on no honest picture reaches.
let decodingTimeLimit = Duration.seconds(20)
let filteringTimeLimit = Duration.seconds(60)
let encodingTimeLimit = Duration.seconds(60)

/// Does the work of a stage on the thread of its operation: decoding, filtering, encoding.
///
/// Cancelling the operation also cancels the work in the picture library, which stops within
/// milliseconds.
///
/// - Parameter timeLimit: the limit of processor time, so that photos do not fail because the
///   machine is busy.
func pixelWork<Output>(
    timeLimit: Duration, _ work: (ImagingCancellation) throws(PhotoStageStop) -> Output
) throws(PhotoStageStop) -> Output {
    let cancellation = ImagingCancellation(processorTime: timeLimit)
    Operation.current?.onCancel { cancellation.cancel() }
    return try work(cancellation)
}

/// Runs pixel work and attributes its errors to a stage; the failure of a filter always to
/// filtering.
func pixelStage<Output>(
    _ stage: PhotoFailure.Stage, _ work: () throws(ImagingError) -> Output
) throws(PhotoStageStop) -> Output {
    do throws(ImagingError) {
        return try work()
    } catch .cancelled {
        throw .cancelled
    } catch {
        throw .failed(
            PhotoFailure(
                stage: error.isOfFilter ? .filter : stage, reason: error.description,
                isRetryable: error.isRetryable, cause: error.cause))
    }
}

extension ImagingError {
    fileprivate var isOfFilter: Bool {
        if case .filterFailed = self { true } else { false }
    }

    /// The error as a code; nil for errors that are no fault of the picture.
    fileprivate var cause: PhotoFailure.Cause? {
        switch self {
        case .cancelled, .invalidLook, .invalidArgument: nil
        case .timedOut: .init(.pictureTookTooLong)
        case .emptyInput: .init(.emptyFile)
        case .unknownFormat: .init(.notAPicture)
        case .formatNotRead(let name): .init(.formatNotRead, ["detail": name])
        case .noPictureInRawFile: .init(.noPictureInRawFile)
        case .formatNotAllowed(let format, _): .init(.formatNotAllowed, ["format": format.rawValue])
        case .tooLarge(let size, _): .init(.tooManyPixels, ["size": "\(size)"])
        case .tooManyFrames(let frames, let size, _):
            .init(.tooManyFrames, ["frames": "\(frames)", "size": "\(size)"])
        case .decodeFailed(let detail): .init(.damaged, ["detail": detail])
        case .filterFailed(let detail): .init(.filterFailed, ["detail": detail])
        case .encodeFailed(let detail): .init(.encodeFailed, ["detail": detail])
        case .outOfMemory: .init(.outOfMemory)
        case .engineUnavailable: .init(.engineUnavailable)
        }
    }

    /// Whether downloading the photo again may help.
    fileprivate var isRetryable: Bool {
        switch self {
        case .tooLarge, .tooManyFrames, .formatNotAllowed, .invalidArgument: false
        case .filterFailed, .encodeFailed, .invalidLook: false
        case .cancelled, .timedOut, .outOfMemory, .engineUnavailable: true
        case .emptyInput, .unknownFormat, .formatNotRead, .noPictureInRawFile, .decodeFailed: true
        }
    }
}
#endif
