import Clibz

/// Compression in the format of gzip, with zlib.
enum Gzip {
    /// Compresses bytes; nil if zlib has no memory for it.
    ///
    /// - Parameters:
    ///   - bytes: the bytes, less than 4 GiB.
    ///   - level: 1 is fast, 9 is small.
    static func compressed(_ bytes: UnsafeRawBufferPointer, level: Int32) -> [UInt8]? {
        var stream = z_stream()
        // The largest window, 2^15 bytes; the additional 16 asks for gzip's header.
        let opened = deflateInit2_(
            &stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard opened == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        // With room for the worst case, one call does everything.
        let limit = Int(deflateBound(&stream, UInt(bytes.count)))
        var result = Z_OK
        let compressed = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            stream.next_in = UnsafeMutablePointer(
                mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.avail_in = UInt32(bytes.count)
            stream.next_out = buffer.baseAddress
            stream.avail_out = UInt32(limit)
            result = deflate(&stream, Z_FINISH)
            count = limit - Int(stream.avail_out)
        }
        return result == Z_STREAM_END ? compressed : nil
    }

    static func compressed(_ bytes: [UInt8], level: Int32) -> [UInt8]? {
        bytes.withUnsafeBytes { compressed($0, level: level) }
    }

    /// The CRC-32 of bytes, which gzip also has at its end.
    static func checksum(of bytes: [UInt8]) -> UInt { crc32(0, bytes, UInt32(bytes.count)) }

    /// Whether a client accepts gzip, by its `Accept-Encoding` header.
    static func isAccepted(by header: String?) -> Bool {
        var isAnyAccepted = false
        for item in (header ?? "").lowercased().split(separator: ",") {
            let parts = item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let coding = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            let isAccepted = weight.map { (Double($0) ?? 0) > 0 } ?? true
            if coding == "gzip" || coding == "x-gzip" { return isAccepted }
            if coding == "*" { isAnyAccepted = isAccepted }
        }
        return isAnyAccepted
    }
}
