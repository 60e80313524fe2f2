import FoundationEssentials

/// Reads any bytes as the head of a response, one line after the other.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHeaders(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: count)
    var head = ResponseHead()
    for line in input.split(separator: 0x0a, maxSplits: 50, omittingEmptySubsequences: false) {
        head.lineArrived(UnsafeRawBufferPointer(rebasing: line))
    }
    let fields = head.fields
    let now = 1_700_000_000
    if let wait = RetryAfter.wait(in: fields, now: now) { precondition(wait >= .zero) }
    let freshness = ResponseFreshness(fields: fields, now: now)
    precondition(freshness.end >= now)
    precondition(freshness.isStorable || !freshness.isFresh(at: now))
    checkVersion(fields, now: now)
    checkRest(fields)
    if let location = fields.first(.location) { checkRedirection(to: location) }
    return 0
}

/// The validator of a response becomes the condition of the next request.
private func checkVersion(_ fields: HTTPFields, now: Int) {
    let (tag, date) = (fields.first(.eTag), fields.first(.lastModified))
    let version = PhotoVersion(bytes: [1, 2, 3], entityTag: tag, lastModified: date, now: now)
    let condition = PhotoVersion.condition(for: version.text)
    if let tag, !tag.isEmpty {
        precondition(condition?.name == .ifNoneMatch && condition?.value == tag)
    } else if version.modified != nil {
        precondition(condition?.name == .ifModifiedSince && condition?.value == date)
    } else {
        precondition(condition == nil)
    }
}

/// Only a response with the rest of the same file continues an interrupted download.
private func checkRest(_ fields: HTTPFields) {
    guard let url = URL(string: "https://example.com/a.jpg") else { return }
    let transfer = DownloadTransfer(unless: nil) { _ in }
    transfer.keep([1, 2, 3], of: url, fields)
    guard let part = transfer.takePart(of: url) else { return }
    precondition(part.entityTag.utf8.first == UInt8(ascii: "\""))
    precondition(transfer.takePart(of: url) == nil)
    if part.isContinued(by: fields) {
        precondition(fields.first(.contentRange)?.contains("3-") == true)
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
