import PhotoTestSupport

@testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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

/// Downloads a text; returns the text, or the reason of the failure and which host to allow.
func downloaded(_ address: String, with downloader: PhotoDownloader) async -> String {
    guard let url = URL(string: address) else { preconditionFailure("\(address) is not a URL.") }
    do throws(PhotoStageStop) {
        return String(decoding: try await downloader.bytes(of: url), as: UTF8.self)
    } catch {
        switch error {
        case .cancelled: return "cancelled"
        case .failed(let failure):
            return failure.reason + (failure.cause?.values["allowed"].map { " Allow \($0)." } ?? "")
        }
    }
}
