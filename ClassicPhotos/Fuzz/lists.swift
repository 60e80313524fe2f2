import FoundationEssentials

/// Reads any bytes as a list of photos: a property list, JSON or lines of text. The first byte
/// decides whether the list is a local file.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLists(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 1 else { return 0 }
    let input = [UInt8](UnsafeBufferPointer(start: bytes + 1, count: count - 1))
    let base = bytes[0] & 1 == 0 ? "https://example.com/photos/" : "file:///photos/"
    let limits = PhotoListLimits.standard
    do throws(PhotoSourceError) {
        let list = try PhotoList.parse(
            bytes: input, named: "list", relativeTo: URL(string: base), limits: limits)
        precondition(!list.records.isEmpty && list.records.count <= limits.entries)
    } catch {
        precondition(!error.description.isEmpty)
    }
    return 0
}
