import FoundationEssentials

/// Reads any bytes as the headers of a response, one on each line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHeaders(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    var headers = HTTPHeaders(fields: [])
    for line in text.split(whereSeparator: \.isNewline).prefix(50) {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { continue }
        headers.fields.append((String(parts[0]), String(parts[1].drop { $0 == " " })))
    }
    let now = 1_700_000_000
    if let wait = RetryAfter.wait(in: headers, now: now) { precondition(wait >= .zero) }
    let freshness = ResponseFreshness(headers: headers, now: now)
    precondition(freshness.end >= now)
    precondition(freshness.isStorable || !freshness.isFresh(at: now))
    checkVersion(headers, now: now)
    checkRest(headers)
    if let location = headers.first(name: "location") { checkRedirection(to: location) }
    return 0
}

/// The validator of a response becomes the condition of the next request.
private func checkVersion(_ headers: HTTPHeaders, now: Int) {
    let (tag, date) = (headers.first(name: "etag"), headers.first(name: "last-modified"))
    let version = PhotoVersion(bytes: [1, 2, 3], entityTag: tag, lastModified: date, now: now)
    let condition = PhotoVersion.condition(for: version.text)
    if let tag, !tag.isEmpty {
        precondition(condition?.name == "If-None-Match" && condition?.value == tag)
    } else if version.modified != nil {
        precondition(condition?.name == "If-Modified-Since" && condition?.value == date)
    } else {
        precondition(condition == nil)
    }
}

/// Only a response with the rest of the same file continues an interrupted download.
private func checkRest(_ headers: HTTPHeaders) {
    guard let url = URL(string: "https://example.com/a.jpg") else { return }
    let transfer = DownloadTransfer(unless: nil) { _, _ in }
    transfer.keep([1, 2, 3], of: url, headers)
    guard let part = transfer.takePart(of: url) else { return }
    precondition(part.entityTag.hasPrefix("\"") && transfer.takePart(of: url) == nil)
    if part.isContinued(by: headers) {
        precondition(headers.first(name: "content-range")?.contains("3-") == true)
    }
}

/// No redirection leaves the web, or goes from https to http.
private func checkRedirection(to location: String) {
    guard let start = URL(string: "https://example.com/a/b?c#d") else { return }
    do throws(PhotoURLProblem) {
        let next = try WebURL(start).redirected(to: location)
        precondition(next.url.scheme?.lowercased() == "https" && next.url.user == nil)
    } catch {
        precondition(!error.message.isEmpty)
    }
}
