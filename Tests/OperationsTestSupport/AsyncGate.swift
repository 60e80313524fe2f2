/// A gate for one async body, which lets a cancelled task pass with an error.
package final class AsyncGate: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() { (stream, continuation) = AsyncStream.makeStream() }

    package func open() { continuation.finish() }

    package func wait() async throws {
        for await _ in stream {}
        try Task.checkCancellation()
    }
}
