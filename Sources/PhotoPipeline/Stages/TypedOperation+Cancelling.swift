#if PhotoPipeline
import Operations

extension TypedOperation {
    /// The result, once the operation has finished; cancelling the calling task cancels the
    /// operation, which nothing else waits for.
    var valueUnlessCancelled: Output {
        get async throws {
            try await withTaskCancellationHandler {
                try await value
            } onCancel: {
                cancel()
            }
        }
    }
}
#endif
