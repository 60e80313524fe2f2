#if DurableJobs
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The digest SHA-256 of FIPS 180-4, so that keys of any length take 64 characters in the store.
///
/// A package of cryptography would be the largest dependency of this module.
package enum SHA256 {
    package static func hexadecimalDigest(of data: Data) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for word in digest(of: data) {
            for shift in stride(from: 28, through: 0, by: -4) {
                text.append(digits[Int(word >> UInt32(shift)) & 15])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digest(of data: Data) -> [UInt32] {
        var message = [UInt8](data)
        let bitCount = UInt64(message.count) * 8
        // Padding: a one bit, zeros, and the length in 64 bits, up to a whole block of 64 bytes.
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            message.append(UInt8(truncatingIfNeeded: bitCount >> shift))
        }
        var hash = initial
        for block in stride(from: 0, to: message.count, by: 64) {
            compress(message[block..<block + 64], into: &hash)
        }
        return hash
    }

    private static func compress(_ block: ArraySlice<UInt8>, into hash: inout [UInt32]) {
        var w = [UInt32](repeating: 0, count: 64)
        for (offset, byte) in block.enumerated() {
            w[offset / 4] = w[offset / 4] << 8 | UInt32(byte)
        }
        for t in 16..<64 {
            let s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3
            let s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10
            w[t] = w[t - 16] &+ s0 &+ w[t - 7] &+ s1
        }
        var v = hash
        for t in 0..<64 {
            let sum1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)
            let choice = (v[4] & v[5]) ^ (~v[4] & v[6])
            let t1 = v[7] &+ sum1 &+ choice &+ constants[t] &+ w[t]
            let sum0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2])
            v = [t1 &+ sum0 &+ majority, v[0], v[1], v[2], v[3] &+ t1, v[4], v[5], v[6]]
        }
        for index in 0..<8 { hash[index] &+= v[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of
    /// the cube roots of the first 64 primes (sections 4.2.2 and 5.3.3). A double has 53 bits: the
    /// largest root here is below 7, so more than 32 bits of its fraction are exact.
    private static let initial = primes.prefix(8).map { fraction(Double($0).squareRoot()) }
    private static let constants = primes.map { fraction(cubeRoot(Double($0))) }

    private static let primes: [Int] = {
        var primes: [Int] = []
        var candidate = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes
    }()

    private static func fraction(_ root: Double) -> UInt32 {
        UInt32((root - root.rounded(.down)) * 4_294_967_296)
    }

    /// Newton's method.
    private static func cubeRoot(_ value: Double) -> Double {
        var root = value
        for _ in 0..<100 { root -= (root * root * root - value) / (3 * root * root) }
        return root
    }
}
#endif
