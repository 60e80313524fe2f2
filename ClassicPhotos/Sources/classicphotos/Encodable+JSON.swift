#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Encodable {
    /// The value as one line of JSON without its end, with sorted keys. A string has no line breaks
    /// in JSON.
    var jsonLine: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("texts and numbers can always be encoded")
        }
        return String(decoding: data, as: UTF8.self)
    }
}
