@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DownloadLimits {
    /// One attempt, with time limits that even a busy machine does not reach; each test sets the
    /// limit that it tests.
    static var patient: DownloadLimits {
        var limits = patientWithRetries
        limits.attempts = 1
        limits.retryDelay = .milliseconds(1)
        return limits
    }

    /// Time limits that even a busy machine does not reach, and the usual attempts.
    static var patientWithRetries: DownloadLimits {
        var limits = DownloadLimits()
        limits.connectTimeout = .seconds(600)
        limits.firstByteTimeout = .seconds(600)
        limits.idleTimeout = .seconds(600)
        limits.rateWindow = .seconds(600)
        limits.totalTimeout = .seconds(600)
        return limits
    }
}

/// Downloads with a new downloader; returns the text, or the reason of the failure.
func downloaded(
    _ address: String, limits: DownloadLimits = .patient, allowing: [AllowedHost] = [.thisMachine],
    lookup: HostGuard.Lookup? = nil
) async -> String {
    let downloader = PhotoDownloader(limits: limits, allowing: allowing, lookup: lookup)
    let result = await downloaded(address, with: downloader)
    await downloader.shutdown()
    return result
}

/// Downloads a text; returns the text, or the reason of the failure as the program shows it.
func downloaded(_ address: String, with downloader: PhotoDownloader) async -> String {
    guard let url = URL(string: address) else { preconditionFailure("\(address) is not a URL.") }
    do throws(PhotoStageStop) {
        return String(decoding: try await downloader.bytes(of: url), as: UTF8.self)
    } catch {
        switch error {
        case .cancelled: return "cancelled"
        case .failed(let failure): return failure.reasonWithFlag
        }
    }
}
