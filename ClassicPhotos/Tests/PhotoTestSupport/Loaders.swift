public import OperationsInsight
public import PhotoPipeline

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Runs a closure with a loader that may download from this machine, and with its timeline.
public func withLoader<Value: Sendable>(
    memoryBytes: Int = 64 << 20, cache: PhotoDiskCache? = nil, limits: SourceLimits = .init(),
    capacity: PixelCapacity = .shared,
    _ body: (PhotoLoader, OperationTimeline) async throws -> Value
) async throws -> Value {
    var options = PhotoLoader.Options()
    options.memoryBytes = memoryBytes
    options.diskCache = cache
    options.limits = limits
    options.capacity = capacity
    let timeline = OperationTimeline()
    options.timeline = timeline
    let downloader = PhotoDownloader(limits: .patient, allowing: [.thisMachine])
    let loader = PhotoLoader(downloader: downloader, options: options)
    do {
        let value = try await body(loader, timeline)
        await downloader.shutdown()
        return value
    } catch {
        await downloader.shutdown()
        throw error
    }
}

/// The URL of a text.
public func webURL(_ address: String) -> URL {
    guard let url = URL(string: address) else { preconditionFailure("\(address) is not a URL.") }
    return url
}

extension ScriptedOrigin.Connection {
    /// Sends a response whose body is a picture, or has no body with status 304.
    public func send(
        _ picture: [UInt8], status: String = "200 OK", headers: [String] = []
    ) {
        var lines = ["HTTP/1.1 \(status)"] + headers
        if !status.hasPrefix("304") { lines.append("Content-Length: \(picture.count)") }
        send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        if !status.hasPrefix("304") { send(bytes: picture) }
    }
}
