import OperationsFoundation

/// The checksum of a file, and how long the file is.
struct Checksum: Sendable, CustomStringConvertible {
    private var crc: UInt32 = .max
    private(set) var byteCount = 0

    /// Reads a file in portions, so that memory does not grow with the file, and so that the
    /// operation that reads it can be cancelled between two portions.
    init(of file: URL) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let portion = try handle.read(upToCount: 64 * 1024), !portion.isEmpty {
            try Operation.checkCancellation()
            add(portion)
        }
    }

    private mutating func add(_ bytes: Data) {
        byteCount += bytes.count
        for byte in bytes {
            crc = crc >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)]
        }
    }

    var description: String {
        let digits = String(~crc, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// The remainders of CRC-32, as zlib and PNG use it, for each byte.
    private static let table = (0..<256 as Range<UInt32>).map { byte in
        (0..<8).reduce(byte) { rest, _ in rest >> 1 ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
}
