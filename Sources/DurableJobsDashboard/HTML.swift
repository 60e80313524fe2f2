#if DurableJobsDashboard
/// Text in HTML. An interpolated string is escaped; interpolated HTML is not, once more.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    private(set) var text: String

    init(stringLiteral value: String) { text = value }

    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: HTML) { text += value.text }
        mutating func appendInterpolation(_ value: Int) { text += "\(value)" }

        mutating func appendInterpolation(_ value: String) {
            for character in value.unicodeScalars {
                switch character {
                case "&": text += "&amp;"
                case "<": text += "&lt;"
                case ">": text += "&gt;"
                case "\"": text += "&quot;"
                case "'": text += "&#39;"
                // HTML has no notation for the other control characters.
                case "\t", "\n", "\u{20}"...: text.unicodeScalars.append(character)
                default: text += "\u{FFFD}"
                }
            }
        }
    }

    static func += (a: inout HTML, b: HTML) { a.text += b.text }

    static func joined(_ parts: [HTML]) -> HTML {
        var all: HTML = ""
        for part in parts { all += part }
        return all
    }
}

extension String {
    /// The text as a part of a path, or as a value of a query.
    var inAddress: String {
        var text = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.count < 2 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }

    /// The text of a part of an address; nil if it is no UTF-8.
    ///
    /// - Parameter plusIsSpace: whether a plus sign stands for a space, as in forms.
    func decodedFromAddress(plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next(), let low = rest.next(),
                    let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
#endif
