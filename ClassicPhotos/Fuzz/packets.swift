/// Reads any bytes as a packet of XMP.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPackets(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    let fields = XMPFields(input)
    let texts = (fields.keywords ?? []) + [fields.title].compactMap(\.self)
    precondition(texts.count <= XMPFields.mostKeywords + 1)
    for text in texts {
        precondition(!text.isEmpty && text.unicodeScalars.count <= XMPFields.longestTitle)
        precondition(text.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }
    precondition((-1...5).contains(fields.rating ?? 0))
    return 0
}
