import FoundationEssentials

@testable import PhotoPipeline

extension DownloadLimits {
    /// One attempt, and no limit of time that a busy machine could come near: a test sets the one
    /// that it is about.
    static var patient: DownloadLimits {
        var limits = DownloadLimits()
        limits.attempts = 1
        limits.retryDelay = .milliseconds(1)
        limits.connectTimeout = .seconds(120)
        limits.firstByteTimeout = .seconds(120)
        limits.idleTimeout = .seconds(120)
        limits.totalTimeout = .seconds(120)
        return limits
    }
}

/// Downloads with a downloader of its own; what came, in words: the text or the reason of the
/// failure.
func downloaded(
    _ address: String, limits: DownloadLimits = .patient, allowing: [AllowedHost] = [.thisMachine],
    lookup: HostGuard.Lookup? = nil
) async -> String {
    let downloader = PhotoDownloader(limits: limits, allowing: allowing, lookup: lookup)
    let words = await downloaded(address, with: downloader)
    await downloader.shutdown()
    return words
}

/// What came, in words: the text or the reason of the failure.
func downloaded(_ address: String, with downloader: PhotoDownloader) async -> String {
    guard let url = URL(string: address) else { preconditionFailure("\(address) is no URL") }
    do throws(PhotoStageStop) {
        return String(decoding: try await downloader.bytes(of: url), as: UTF8.self)
    } catch {
        switch error {
        case .cancelled: return "cancelled"
        case .failed(let failure): return failure.reason
        }
    }
}
