import Imaging
public import Operations

// The stages of a photo's way are operations with results: bytes, pixels, a file. Each takes its
// input from the one it depends on, with its type, and runs only if that succeeded; a failure
// upstream is the failure of everything behind it.

/// What became of a stage.
public enum PhotoStageOutcome<Output: Sendable>: Sendable {
    /// It has not run to its end.
    case pending
    /// It made what it is for.
    case produced(Output)
    /// It could not, or a stage before it could not.
    case failed(PhotoFailure)
    /// It was told to stop, or a stage before it was.
    case cancelled
}

/// Why a stage ends without output.
public enum PhotoStageStop: Error, Sendable, Equatable {
    /// Something is wrong with this photo.
    case failed(PhotoFailure)
    /// Nobody wants it any more.
    case cancelled
}

extension TypedOperation {
    /// What has become of a stage so far; does not change once it has finished.
    public var outcome: PhotoStageOutcome<Output> {
        do {
            return .produced(try result)
        } catch OperationResultError.notFinished {
            return .pending
        } catch PhotoStageStop.failed(let failure) {
            return .failed(failure)
        } catch let cancellation as OperationCancellation {
            guard
                case .dependencyFailed(_, PhotoStageStop.failed(let failure)) = cancellation.reason
            else { return .cancelled }
            return .failed(failure)
        } catch {
            return .cancelled
        }
    }
}

/// The body of a stage that works on its thread: decoding, filtering, encoding, writing.
///
/// Cancelling the operation reaches into the picture library, which lets go within milliseconds.
///
/// - Parameter timeLimit: of processor time, so that a busy machine makes no photo fail.
func pixelWork<Output>(
    timeLimit: Duration,
    _ work: @escaping @Sendable (ImagingCancellation) throws(PhotoStageStop) -> Output
) -> @Sendable () throws -> Output {
    {
        let cancellation = ImagingCancellation(processorTime: timeLimit)
        Operation.current?.onCancel { cancellation.cancel() }
        return try work(cancellation)
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

extension TypedOperation {
    /// The output, for a dependent that runs because this stage has succeeded.
    func requireOutput() throws(PhotoStageStop) -> Output {
        switch outcome {
        case .produced(let output): return output
        case .failed(let failure): throw .failed(failure)
        case .cancelled, .pending: throw .cancelled
        }
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
