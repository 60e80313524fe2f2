import FoundationEssentials

/// Reads any bytes as the address that a server redirects to, and as a host that a person allows.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAddresses(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    if let start = URL(string: "https://example.com/a/b?c#d") {
        do throws(PhotoURLProblem) {
            let next = try WebURL(start).redirected(to: text)
            // No redirection leaves the web, or goes from https to http.
            precondition(next.url.scheme?.lowercased() == "https" && next.url.user == nil)
            precondition(!next.origin.isEmpty)
        } catch {
            precondition(!"\(error)".isEmpty)
        }
    }
    if let allowed = AllowedHost(text) { precondition(AllowedHost(allowed.description) == allowed) }
    return 0
}
