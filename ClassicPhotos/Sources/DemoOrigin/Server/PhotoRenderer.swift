import Landscapes
import NIOCore
import NIOPosix

/// Renders and encodes pictures on its own threads, and caches the results.
///
/// Simultaneous requests for one picture share a rendering. A rendering that has begun is finished
/// even if no request waits for it, so that a later request finds the result.
actor PhotoRenderer {
    private let encoding: any PhotoEncoding
    private let threads: NIOThreadPool
    private var cache: PhotoCache
    private var inProgress: [Int: Task<ByteBuffer, any Error>] = [:]
    private(set) var renderings = 0

    init(encoding: any PhotoEncoding, threadCount: Int, byteLimit: Int) {
        self.encoding = encoding
        threads = NIOThreadPool(numberOfThreads: max(threadCount, 1))
        cache = PhotoCache(byteLimit: byteLimit)
        threads.start()
    }

    func file(_ picture: Landscape) async throws -> ByteBuffer {
        if let file = cache.file(picture.index) { return file }
        if let task = inProgress[picture.index] { return try await task.value }
        renderings += 1
        let (threads, encoding) = (threads, encoding)
        let task = Task {
            try await threads.runIfActive { ByteBuffer(bytes: try encoding.encoded(picture)) }
        }
        inProgress[picture.index] = task
        defer { inProgress[picture.index] = nil }
        let file = try await task.value
        cache.insert(file, for: picture.index)
        return file
    }

    /// Ends the threads after their current renderings; later requests fail.
    func close() async throws { try await threads.shutdownGracefully() }
}
