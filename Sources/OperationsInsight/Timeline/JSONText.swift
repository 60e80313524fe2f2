/// Writes JSON from beginning to end.
///
/// The caller must close whatever it opens and give every member of an object a key.
struct JSONText {
    var bytes: [UInt8] = []
    private var needsComma = false
    private var lineIsDue = false

    /// Puts the next value on a new line.
    mutating func newline() { lineIsDue = true }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        if lineIsDue { bytes.append(UInt8(ascii: "\n")) }
        lineIsDue = false
        needsComma = false
    }

    mutating func open(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
    }

    mutating func close(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func field(_ key: String, _ value: String) {
        self.key(key)
        string(value)
    }

    mutating func field(_ key: String, _ value: Int) {
        self.key(key)
        separate()
        bytes += String(value).utf8
        needsComma = true
    }

    /// Appends nanoseconds as exact microseconds.
    mutating func microseconds(_ nanoseconds: UInt64) {
        separate()
        bytes += String(nanoseconds / 1_000).utf8
        let rest = nanoseconds % 1_000
        if rest > 0 {
            bytes.append(UInt8(ascii: "."))
            for digit in [rest / 100, rest / 10 % 10, rest % 10] {
                bytes.append(UInt8(ascii: "0") + UInt8(digit))
            }
        }
        needsComma = true
    }

    mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
