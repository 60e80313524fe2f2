public import Operations

/// An operation that makes one thing of a photo: its bytes, its pixels, a file.
///
/// A stage takes its input from the stage it depends on, with its type, and passes on what became of
/// it: a failure upstream is the failure of everything behind it.
public protocol PhotoStage<Output>: Operation {
    /// What the stage makes.
    associatedtype Output: Sendable

    /// What has become of it so far; does not change once the operation has finished.
    var outcome: PhotoStageOutcome<Output> { get }
}

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

extension PhotoStage {
    /// The output, for a dependent that runs because this stage has finished.
    func requireOutput() throws(PhotoStageStop) -> Output {
        switch outcome {
        case .produced(let output): return output
        case .failed(let failure): throw .failed(failure)
        // A stage that was cancelled before it started never gets to say so itself.
        case .cancelled, .pending: throw .cancelled
        }
    }
}

extension PhotoStageOutcome {
    init(_ body: () throws(PhotoStageStop) -> Output) {
        do throws(PhotoStageStop) {
            self = .produced(try body())
        } catch {
            self = PhotoStageOutcome(stop: error)
        }
    }

    init(stop: PhotoStageStop) {
        switch stop {
        case .failed(let failure): self = .failed(failure)
        case .cancelled: self = .cancelled
        }
    }
}
