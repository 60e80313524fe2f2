#if PhotoPipeline
import HTTPTypes

/// How long a response may be used again without a question to its server, as its headers say
/// (RFC 9111). The cache belongs to one person.
struct ResponseFreshness: Sendable, Hashable {
    /// Whether the response may be stored on a disk; a response with `no-store` may not.
    var isStorable: Bool
    /// The time until which the response may be used without a question, in seconds since 1970.
    var end: Int

    /// The longest time that is guessed from the date of the last modification.
    private static let longestGuess = 86_400

    init(isStorable: Bool, end: Int) {
        self.isStorable = isStorable
        self.end = end
    }

    /// - Parameters:
    ///   - fields: the header fields of a response that has just arrived.
    ///   - now: the local time in seconds since 1970.
    init(fields: HTTPFields, now: Int) {
        let directives = Self.directives(of: fields)
        isStorable = directives["no-store"] == nil
        guard isStorable, directives["no-cache"] == nil else {
            end = now
            return
        }
        func date(_ name: HTTPField.Name) -> Int? {
            fields.first(name).flatMap { HTTPDate.seconds($0, now: now) }
        }
        let sent = date(.date) ?? now
        let lifetime: Int
        if let text = directives["max-age"] {
            lifetime = Self.seconds(text)
        } else if fields.contains(.expires) {
            // A value that is no date, usually 0, means a time in the past.
            lifetime = date(.expires).map { $0 - sent } ?? 0
        } else if let modified = date(.lastModified) {
            lifetime = min((sent - modified) / 10, Self.longestGuess)
        } else {
            lifetime = 0
        }
        let age = max(fields.first(.age).map(Self.seconds) ?? 0, now - sent)
        end = now + max(0, lifetime - age)
    }

    /// Whether the response may be used without a question at a time in seconds since 1970.
    func isFresh(at now: Int) -> Bool { now < end }

    /// The directives of `Cache-Control` with their values, by lowercase name.
    private static func directives(of fields: HTTPFields) -> [String: String] {
        var directives: [String: String] = [:]
        let texts = fields[values: .cacheControl]
        for text in texts.flatMap({ $0.unicodeScalars.split(separator: ",").map(Substring.init) }) {
            let parts = text.split(separator: "=", maxSplits: 1)
            guard let name = parts.first?.lowercased().filter({ $0 != " " && $0 != "\t" }) else {
                continue
            }
            let value = parts.count == 2 ? String(parts[1]) : ""
            directives[name] = value.filter { $0 != "\"" && $0 != " " }
        }
        return directives
    }

    /// A number of seconds, at most some decades; 0 for anything else.
    private static func seconds(_ text: String) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return 0 }
        return min(Int(text) ?? .max, Int(Int32.max))
    }
}
#endif
