#if PhotoPipeline
import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the attempts of one download have in common: its condition, its observer, and the part of
/// the file that an interrupted attempt has left for the next one.
///
/// A server that supports ranges (RFC 9110, 14) then sends only the rest of the file. The request
/// has the entity tag of the part as a condition, so a file that has changed is sent as a whole.
final class DownloadTransfer: Sendable {
    /// The beginning of a file.
    struct Part: Sendable {
        let url: URL
        /// A strong entity tag: equal tags mean equal bytes.
        let entityTag: String
        let bytes: [UInt8]
    }

    /// The text of a ``PhotoVersion`` that need not be downloaded again.
    let known: String?
    let progress: DownloadProgress.Handler
    private let kept = Mutex<Part?>(nil)

    init(unless known: String?, progress: @escaping DownloadProgress.Handler) {
        self.known = known
        self.progress = progress
    }

    /// Returns the part of a file, and forgets it.
    func takePart(of url: URL) -> Part? {
        let part = kept.withLock { kept in
            defer { kept = nil }
            return kept
        }
        return part?.url == url ? part : nil
    }

    /// Keeps the bytes of an interrupted response, if a later request can continue it.
    func keep(_ bytes: [UInt8], of url: URL, _ fields: HTTPFields) {
        guard !bytes.isEmpty, let tag = fields.first(.eTag), tag.utf8.first == UInt8(ascii: "\"")
        else { return }
        kept.withLock { $0 = Part(url: url, entityTag: tag, bytes: bytes) }
    }
}

extension DownloadTransfer.Part {
    /// Whether a response with status 206 continues this part.
    func isContinued(by fields: HTTPFields) -> Bool {
        guard let range = fields.first(.contentRange) else { return false }
        let tag = fields.first(.eTag) ?? entityTag
        // Swift takes two texts as equal that a server may tell apart.
        return tag.utf8.elementsEqual(entityTag.utf8)
            && range.lowercased().hasPrefix("bytes \(bytes.count)-")
    }
}
#endif
