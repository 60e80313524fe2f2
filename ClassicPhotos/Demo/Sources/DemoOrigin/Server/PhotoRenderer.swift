import Landscapes
import NIOCore
import Operations
import Synchronization

/// Renders and encodes pictures in an operation queue, and caches the results.
///
/// Simultaneous requests for one picture share a rendering. A rendering that has begun is finished
/// even if no request waits for it, so that a later request finds the result. A rendering that has
/// not begun is dropped when the tasks of all its requests are cancelled: after a fling, the
/// pictures that are visible now do not wait behind those that were passed.
final class PhotoRenderer: Sendable {
    private let encoding: any PhotoEncoding
    private let queue = OperationQueue()
    private let cache: Mutex<PhotoCache>
    private let requests = Atomic<Int>(0)

    /// The number of requests that wait, for tests.
    var requestCount: Int { requests.load(ordering: .relaxed) }

    init(encoding: any PhotoEncoding, threadCount: Int, byteLimit: Int) {
        self.encoding = encoding
        cache = Mutex(PhotoCache(byteLimit: byteLimit))
        queue.name = "Renderings"
        queue.maxConcurrentOperationCount = max(threadCount, 1)
    }

    /// The file of a picture. A cancelled request ends at once.
    func file(_ picture: Landscape) async throws -> ByteBuffer {
        requests.add(1, ordering: .relaxed)
        defer { requests.subtract(1, ordering: .relaxed) }
        if let file = cachedFile(of: picture) { return file }
        return try await queue.sharedValue(.name(picture.name), by: picture.index) { [self] in
            // An earlier rendering, whose requests have all left, may have ended meanwhile.
            if let file = cachedFile(of: picture) { return file }
            let file = ByteBuffer(bytes: try encoding.encoded(picture))
            cache.withLock { $0.insert(file, for: picture.index) }
            return file
        }
    }

    private func cachedFile(of picture: Landscape) -> ByteBuffer? {
        cache.withLock { $0.file(picture.index) }
    }

    /// Returns when the current renderings have ended; drops the others. Later requests fail.
    func close() async { await queue.shutDown(grace: .zero) }
}
