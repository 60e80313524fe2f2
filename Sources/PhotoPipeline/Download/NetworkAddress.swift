#if PhotoPipeline
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// An IP address, with the check whether it belongs to the public internet.
///
/// The ranges are IANA's registries of special-purpose addresses (RFC 6890) and the multicast
/// ranges. In IPv6 only 2000::/3 is allocated, so all other ranges are rejected. An IPv6 address
/// that embeds an IPv4 address is judged by the IPv4 address.
enum NetworkAddress: Hashable, Sendable {
    case v4(UInt32)
    /// The upper and the lower 64 bits.
    case v6(UInt64, UInt64)

    /// The address from the system's form; nil if it is not an IP address.
    init?(_ address: UnsafePointer<sockaddr>) {
        // On every system, the port comes before an IPv4 address, and the port and flow label come
        // before an IPv6 address.
        let memory = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: self = .v4(UInt32(bigEndian: memory.load(fromByteOffset: 4, as: UInt32.self)))
        case AF_INET6: self = Self.v6(memory + 8)
        default: return nil
        }
    }

    /// Parses an address in text form, without brackets; nil if the text is not an address.
    init?(_ text: String) {
        var four: UInt32 = 0
        var six: (UInt64, UInt64) = (0, 0)
        if inet_pton(AF_INET, text, &four) == 1 {
            self = .v4(UInt32(bigEndian: four))
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self = .v6(UInt64(bigEndian: six.0), UInt64(bigEndian: six.1))
        } else {
            return nil
        }
    }

    private static func v6(_ bytes: UnsafeRawPointer) -> NetworkAddress {
        .v6(
            UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// The reason why the address is not public, such as "a private address"; nil if it is public.
    var specialPurpose: String? {
        switch self {
        case .v4(let bits): Self.specialPurpose(of: bits)
        case .v6(let high, let low): Self.specialPurpose(of: high, low)
        }
    }

    // MARK: IPv4

    private struct Range4 {
        let mask: UInt32
        let value: UInt32
        let name: String

        init(_ a: UInt32, _ b: UInt32, _ c: UInt32, length: UInt32, _ name: String) {
            mask = ~0 << (32 - length)
            value = a << 24 | b << 16 | c << 8
            self.name = name
        }
    }

    private static let ranges4: [Range4] = [
        Range4(0, 0, 0, length: 8, "an unspecified address"),
        Range4(10, 0, 0, length: 8, "a private address"),
        Range4(100, 64, 0, length: 10, "an address inside a provider's network"),
        Range4(127, 0, 0, length: 8, "a loopback address"),
        Range4(169, 254, 0, length: 16, "a link-local address"),
        Range4(172, 16, 0, length: 12, "a private address"),
        Range4(192, 0, 0, length: 24, "a reserved address"),
        Range4(192, 0, 2, length: 24, "an address for documentation"),
        Range4(192, 88, 99, length: 24, "a reserved address"),
        Range4(192, 168, 0, length: 16, "a private address"),
        Range4(198, 18, 0, length: 15, "an address for benchmarks"),
        Range4(198, 51, 100, length: 24, "an address for documentation"),
        Range4(203, 0, 113, length: 24, "an address for documentation"),
        Range4(224, 0, 0, length: 4, "a multicast address"),
        Range4(240, 0, 0, length: 4, "a reserved address"),
    ]

    private static func specialPurpose(of bits: UInt32) -> String? {
        ranges4.first { bits & $0.mask == $0.value }?.name
    }

    // MARK: IPv6

    private struct Range6 {
        let mask: UInt64
        let value: UInt64
        let name: String

        /// The upper 64 bits are enough to distinguish all ranges.
        init(_ value: UInt64, length: UInt64, _ name: String) {
            mask = ~0 << (64 - length)
            self.value = value
            self.name = name
        }
    }

    private static let ranges6: [Range6] = [
        Range6(0x0064_ff9b_0001_0000, length: 48, "an address for translation inside a network"),
        Range6(0x2001_0000_0000_0000, length: 32, "a Teredo address"),
        Range6(0x2001_0000_0000_0000, length: 23, "a reserved address"),
        Range6(0x2001_0db8_0000_0000, length: 32, "an address for documentation"),
        Range6(0x3fff_0000_0000_0000, length: 20, "an address for documentation"),
        Range6(0xfc00_0000_0000_0000, length: 7, "a private address"),
        Range6(0xfe80_0000_0000_0000, length: 10, "a link-local address"),
        Range6(0xfec0_0000_0000_0000, length: 10, "a private address"),
        Range6(0xff00_0000_0000_0000, length: 8, "a multicast address"),
    ]

    private static func specialPurpose(of high: UInt64, _ low: UInt64) -> String? {
        let last = UInt32(truncatingIfNeeded: low)
        switch (high, low) {
        case (0, 0): return "an unspecified address"
        case (0, 1): return "a loopback address"
        // Mapped IPv4, ::ffff:0:0/96, and translated IPv4, 64:ff9b::/96.
        case (0, 0x0000_ffff_0000_0000...0x0000_ffff_ffff_ffff): return specialPurpose(of: last)
        case (0x0064_ff9b_0000_0000, 0...0xffff_ffff): return specialPurpose(of: last)
        default: break
        }
        if let range = ranges6.first(where: { high & $0.mask == $0.value }) { return range.name }
        guard high >> 61 == 1 else { return "a reserved address" }
        // 6to4 has the IPv4 address after its first 16 bits, ISATAP in its last 32 bits.
        if high >> 48 == 0x2002 {
            return specialPurpose(of: UInt32(truncatingIfNeeded: high >> 16))
        }
        let isISATAP = low >> 32 & ~0x0200_0000 == 0x0000_5efe
        return isISATAP ? specialPurpose(of: last) : nil
    }
}

extension NetworkAddress: CustomStringConvertible {
    /// The text form.
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch self {
        case .v4(let bits):
            var address = bits.bigEndian
            inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
        case .v6(let high, let low):
            var halves = (high.bigEndian, low.bigEndian)
            inet_ntop(AF_INET6, &halves, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
#endif
