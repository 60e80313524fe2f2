import Landscapes
import NIOCore
import NIOPosix

/// Renders and encodes pictures on its own threads, and caches the results.
///
/// Simultaneous requests for one picture share a rendering. A rendering that has begun is finished
/// even if no request waits for it, so that a later request finds the result. A rendering that has
/// not begun is dropped when the tasks of all its requests are cancelled: after a fling, the
/// pictures that are visible now do not wait behind those that were passed.
actor PhotoRenderer {
    private struct Rendering {
        let number: Int
        let task: Task<ByteBuffer, any Error>
        /// The number of requests that have not been cancelled.
        var requestCount = 0
    }

    private let encoding: any PhotoEncoding
    private let threads: NIOThreadPool
    private var cache: PhotoCache
    private var inProgress: [Int: Rendering] = [:]
    private var isClosed = false
    /// The number of renderings that were asked of the threads.
    private(set) var renderings = 0
    /// The number of requests that wait and have not been cancelled, for tests.
    var requestCount: Int { inProgress.values.reduce(0) { $0 + $1.requestCount } }

    init(encoding: any PhotoEncoding, threadCount: Int, byteLimit: Int) {
        self.encoding = encoding
        threads = NIOThreadPool(numberOfThreads: max(threadCount, 1))
        cache = PhotoCache(byteLimit: byteLimit)
        threads.start()
    }

    /// The file of a picture.
    ///
    /// A cancelled request ends with its rendering, or when a thread finds that the rendering was
    /// dropped.
    func file(_ picture: Landscape) async throws -> ByteBuffer {
        let index = picture.index
        while true {
            if let file = cache.file(index) { return file }
            var rendering = inProgress[index] ?? begin(picture)
            rendering.requestCount += 1
            inProgress[index] = rendering
            let (task, number) = (rendering.task, rendering.number)
            do {
                return try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    Task { await self.requestCancelled(for: index, number) }
                }
            } catch is CancellationError where !isClosed && !Task.isCancelled {
                // The rendering was dropped before this request came.
            }
        }
    }

    private func begin(_ picture: Landscape) -> Rendering {
        renderings += 1
        let task = Task { [threads, encoding] in
            defer { inProgress[picture.index] = nil }
            // The threads skip the work if the task is cancelled before the work begins.
            let file = try await threads.runIfActive {
                ByteBuffer(bytes: try encoding.encoded(picture))
            }
            cache.insert(file, for: picture.index)
            return file
        }
        return Rendering(number: renderings, task: task)
    }

    private func requestCancelled(for index: Int, _ number: Int) {
        guard inProgress[index]?.number == number else { return }
        inProgress[index]?.requestCount -= 1
        if inProgress[index]?.requestCount == 0 { inProgress[index]?.task.cancel() }
    }

    /// Ends the threads after their current renderings; later requests fail.
    func close() async throws {
        isClosed = true
        try await threads.shutdownGracefully()
    }
}
