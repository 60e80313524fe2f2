/// Reads any bytes as the records of an index of photos, and as one record.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIndexes(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    var end = 0
    let whole = PhotoIndexRecords.visit(input[...]) { record, place in
        precondition(place == end && !record.isEmpty)
        end = place + PhotoIndexRecords.frameLength + record.count
        check(record)
    }
    precondition(whole.count == end && end <= count)
    // Random bytes rarely have the checksum of a record.
    check(input[...])
    let framed = PhotoIndexRecords.framed(input)
    let isRecord = (1...PhotoIndexRecords.longestRecord).contains(count)
    precondition(
        PhotoIndexRecords.visit(framed[...]) { _, _ in }.count == (isRecord ? framed.count : 0))
    return 0
}

/// What is read can be written, and is then read again.
private func check(_ bytes: ArraySlice<UInt8>) {
    guard let record = PhotoIndexRecord(bytes) else { return }
    precondition(PhotoIndexRecord.header(of: bytes)?.key == record.key)
    precondition(PhotoIndexRecord(record.bytes[...]) == record)
}
