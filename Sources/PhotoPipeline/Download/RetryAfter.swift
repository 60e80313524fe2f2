#if PhotoPipeline
import HTTPTypes

/// The delay that a server requests before the next attempt (RFC 9110, 10.2.3).
enum RetryAfter {
    /// The delay in the fields of a response, given as a number of seconds or a date; nil if no
    /// valid delay is present.
    ///
    /// A date is compared with the `Date` of the response, so that neither clock needs to be right.
    ///
    /// - Parameter now: the local time in seconds since 1970, for a response without a date.
    static func wait(in fields: HTTPFields, now: Int) -> Duration? {
        guard let text = fields.first(.retryAfter) else { return nil }
        if text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), !text.isEmpty {
            // A number that overflows an integer means a practically infinite delay.
            return .seconds(Int(text).map { min($0, Int(Int32.max)) } ?? Int(Int32.max))
        }
        guard let date = HTTPDate.seconds(text, now: now) else { return nil }
        let here = fields.first(.date).flatMap { HTTPDate.seconds($0, now: now) } ?? now
        return .seconds(max(0, date - here))
    }
}

/// Parses HTTP dates (RFC 9110, 5.6.7): the current form and two obsolete ones.
enum HTTPDate {
    /// The date in seconds since 1970; nil if the text is not a date.
    ///
    /// - Parameter now: decides the century of a two-digit year.
    static func seconds(_ text: String, now: Int) -> Int? {
        let words = text.split { " ,-:".contains($0) }.map(String.init)
        // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT · Sun Nov  6 08:49:37 1994
        let hasZone = words.count == 8 && words[7] == "GMT"
        guard hasZone || words.count == 7 else { return nil }
        let places = hasZone ? (1, 2, 3, 4) : (2, 1, 6, 3)
        let (dayPlace, monthPlace, yearPlace, clock) = places
        guard let day = number(words[dayPlace], 1...31), let month = month(words[monthPlace]),
            var year = number(words[yearPlace], 0...9_999), let hour = number(words[clock], 0...23),
            let minute = number(words[clock + 1], 0...59),
            let second = number(words[clock + 2], 0...60)
        else { return nil }
        if words[yearPlace].utf8.count == 2 { year = century(of: year, now: now) }
        let days = daysSince1970(year: year, month: month, day: day)
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ text: String, _ range: ClosedRange<Int>) -> Int? {
        guard let value = Int(text), range.contains(value) else { return nil }
        return value
    }

    private static func month(_ text: String) -> Int? {
        let names = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        return names.firstIndex(of: text).map { $0 + 1 }
    }

    /// A year more than fifty years in the future belongs to the previous century.
    private static func century(of year: Int, now: Int) -> Int {
        let current = 1970 + now / 31_556_952
        let candidate = current / 100 * 100 + year
        return candidate > current + 50 ? candidate - 100 : candidate
    }

    /// Counts years from March, so that the leap day is the last day of its year.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        // There are 719,468 days from 1 March of the year 0 to 1 January 1970.
        return shifted * 365 + leapDays + dayOfYear - 719_468
    }
}
#endif
