@_spi(ClassicPhotos) import PhotoPipeline

/// The bytes of a ``PhotoIndexFile``: a head, then records. <doc:PhotoIndexFile> describes them.
enum PhotoIndexRecords {
    /// The first bytes of each file: a name, and the version of this format in two bytes.
    static let head = Array("ClassicPhotos\0".utf8) + [1, 0]
    /// The length of a record, and its checksum.
    static let frameLength = 12
    static let longestRecord = 64 << 10

    /// What the first bytes of a file are.
    enum Head { case index, torn, other }

    /// - Parameter bytes: the first bytes, at most as many as the head has.
    static func kind(ofHead bytes: [UInt8]) -> Head {
        if bytes == head { return .index }
        // A file that was never filled, one of another version, and one without its contents after
        // a power failure.
        let isOwn = bytes.starts(with: head.dropLast(2)) || head.starts(with: bytes)
        return isOwn || bytes.allSatisfy { $0 == 0 } ? .torn : .other
    }

    /// The bytes of a record in the file.
    static func framed(_ record: [UInt8]) -> [UInt8] {
        var frame = RecordWriter()
        frame.put(UInt32(record.count))
        frame.put(fnv1a(record))
        return frame.bytes + record
    }

    /// Visits the records in some bytes of a file.
    ///
    /// - Returns: the number of bytes of the records, and whether the bytes behind them cannot be
    ///   the beginning of another record.
    static func visit(
        _ bytes: ArraySlice<UInt8>, _ body: (ArraySlice<UInt8>, _ at: Int) -> Void
    ) -> (count: Int, isDamaged: Bool) {
        var rest = bytes
        while true {
            var reader = RecordReader(rest.prefix(frameLength))
            let at = rest.startIndex - bytes.startIndex
            guard let length = reader.take(UInt32.self), let checksum = reader.take(UInt64.self)
            else { return (at, false) }
            guard length > 0, length <= longestRecord else { return (at, true) }
            let record = rest.dropFirst(frameLength).prefix(Int(length))
            guard record.count == length else { return (at, false) }
            guard fnv1a(record) == checksum else { return (at, true) }
            body(record, at)
            rest = rest.dropFirst(frameLength + Int(length))
        }
    }
}
