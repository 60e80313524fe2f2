import NIOCore
import NIOPosix

/// Renders and encodes pictures on threads of its own, and keeps the results.
///
/// Requests for one picture that come together share one rendering. A rendering that began is
/// finished even if nobody waits any more: the next visitor finds it done.
actor PhotoDarkroom {
    private let encoding: any PhotoEncoding
    private let threads: NIOThreadPool
    private var cache: PhotoCache
    private var underway: [Int: Task<ByteBuffer, any Error>] = [:]
    private(set) var renderings = 0

    init(encoding: any PhotoEncoding, threadCount: Int, byteLimit: Int) {
        self.encoding = encoding
        threads = NIOThreadPool(numberOfThreads: max(threadCount, 1))
        cache = PhotoCache(byteLimit: byteLimit)
        threads.start()
    }

    func file(_ picture: DemoPicture) async throws -> ByteBuffer {
        if let file = cache.file(picture.index) { return file }
        if let task = underway[picture.index] { return try await task.value }
        renderings += 1
        let (threads, encoding) = (threads, encoding)
        let task = Task {
            try await threads.runIfActive { ByteBuffer(bytes: try encoding.encoded(picture)) }
        }
        underway[picture.index] = task
        defer { underway[picture.index] = nil }
        let file = try await task.value
        cache.insert(file, for: picture.index)
        return file
    }

    /// Ends the threads once the rendering they are at is done; later requests fail.
    func close() async throws { try await threads.shutdownGracefully() }
}
