import Foundation

/// Chunks for insertion into a PNG directly after its header.
enum PNGChunks {
    static func inserting(_ name: String, _ body: [UInt8], into png: [UInt8]) -> [UInt8] {
        // The signature has 8 bytes and the chunk of the header has 25.
        Array(png[..<33]) + HostileFiles.chunk(name, body) + Array(png[33...])
    }

    /// Adds an ICC profile, compressed without any compression.
    static func inserting(profile: [UInt8], into png: [UInt8]) -> [UInt8] {
        let count = UInt16(profile.count)
        func bytes(_ value: UInt16) -> [UInt8] {
            [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)]
        }
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in profile {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        let checksum = HostileFiles.bigEndian(Int(b << 16 | a))
        let stored = [0x78, 0x01, 0x01] + bytes(count) + bytes(~count) + profile + checksum
        return inserting("iCCP", Array("p\0\0".utf8) + stored, into: png)
    }
}
