#if PhotoPipeline
import HTTPTypes

/// A response while it arrives. Belongs to the thread of the transfer.
///
/// The bytes are counted as they arrive: the announced length is not reliable.
final class WebResponse {
    private let limits: DownloadLimits
    private let transfer: DownloadTransfer
    private let watch: DownloadWatch
    private let host: String
    /// The beginning of the file that the request asked to continue.
    private let part: DownloadTransfer.Part?

    private(set) var head = ResponseHead()
    /// The whole file so far, with the part before it.
    private(set) var bytes: [UInt8] = []
    /// Why the transfer must not go on.
    private(set) var problem: DownloadProblem?

    private var total: Int?
    private var headCount = 0
    private var ignoredCount = 0

    /// Of a body that is no file, such as the page of an error, at most so much is read to keep the
    /// connection.
    private static let ignoredLimit = 64 << 10
    /// All heads of a response have at most so many bytes.
    private static let headLimit = 256 << 10

    init(
        host: String, limits: DownloadLimits, continuing part: DownloadTransfer.Part?,
        _ transfer: DownloadTransfer, watch: DownloadWatch
    ) {
        (self.host, self.limits, self.part) = (host, limits, part)
        (self.transfer, self.watch) = (transfer, watch)
    }

    /// Whether the body is the file, or the rest of it.
    var hasContent: Bool { head.isComplete && (head.status == 200 || head.status == 206) }

    /// Whether the head is the whole answer.
    var isAnswered: Bool { head.isComplete && !hasContent }

    /// Whether the body is the rest of the file.
    var isRest: Bool { head.status == 206 }

    /// Takes a line of the head. Returns whether the transfer may go on.
    func headArrived(_ line: UnsafeRawBufferPointer) -> Bool {
        // Interim responses count, and so do the fields after a body.
        headCount += line.count
        guard headCount <= Self.headLimit else { return stop(.tooLongHead(host)) }
        guard !head.isComplete else { return true }
        head.lineArrived(line)
        return !head.isComplete || headIsComplete()
    }

    private func headIsComplete() -> Bool {
        watch.bytesArrived(0)
        guard hasContent else { return hasShortBody }
        guard !isRest || part?.isContinued(by: head.fields) == true else {
            return stop(.wrongPart(host))
        }
        if isRest, let part { bytes = part.bytes }
        let announced = head.fields[.contentLength].flatMap { Int($0) }
        // The length may be any number; the limit is checked before anything is added to it.
        if let announced, announced > limits.maximumBytes - bytes.count { return stop(tooLarge) }
        total = announced.map { max(0, $0) + bytes.count }
        bytes.reserveCapacity(total ?? 0)
        return true
    }

    /// Takes a part of the body. Returns whether the transfer may go on.
    func bodyArrived(_ chunk: UnsafeRawBufferPointer) -> Bool {
        guard hasContent else {
            ignoredCount += chunk.count
            return ignoredCount <= Self.ignoredLimit
        }
        watch.bytesArrived(chunk.count)
        guard bytes.count + chunk.count <= limits.maximumBytes else { return stop(tooLarge) }
        bytes.append(contentsOf: chunk)
        transfer.progress(DownloadProgress(received: bytes.count, total: total))
        return true
    }

    /// Whether a body that is no file is so short, or absent, that it is worth the connection.
    private var hasShortBody: Bool {
        if head.status == 204 || head.status == 304 { return true }
        return head.fields.first(.contentLength).flatMap { Int($0) }.map {
            (0...Self.ignoredLimit).contains($0)
        } ?? false
    }

    private func stop(_ problem: DownloadProblem) -> Bool {
        self.problem = problem
        return false
    }

    private var tooLarge: DownloadProblem { .tooLarge(limit: limits.maximumBytes) }
}
#endif
