@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PhotoURL {
    /// The name of an entry with an invalid URL: the text, without any password in it.
    static func name(ofInvalidURL text: String) -> String {
        guard let url = URL(string: trim(text)), url.user() != nil || url.password() != nil else {
            return text
        }
        return url.host() ?? "a URL with a password"
    }

    /// The scheme at the start of a text, in lower case; `nil` if there is none.
    static func scheme(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon].utf8
        let isLetter: (UInt8) -> Bool = {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
        }
        let isSchemeByte: (UInt8) -> Bool = { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
        guard let first = scheme.first, isLetter(first), scheme.allSatisfy(isSchemeByte) else {
            return nil
        }
        return text[..<colon].lowercased()
    }
}
