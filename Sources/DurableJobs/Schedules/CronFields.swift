#if DurableJobs
/// The five fields of a cron text, which choose minutes of a local time.
struct CronFields: Sendable, Hashable {
    /// The fields with single spaces between them, and numbers in place of names and of `@daily`.
    /// Texts with the same meaning may differ.
    let text: String

    // A bit for each value.
    private let minutes: UInt64
    private let hours: UInt64
    private let days: UInt64
    private let months: UInt64
    private let weekdays: UInt64
    /// Whether the last day of each month is one of the days.
    private let hasLastDay: Bool
    /// Whether a day must satisfy both fields of days, because one of them begins with `*`.
    private let needsBothDays: Bool
    /// Whether the field of minutes or of hours begins with `*`: then the schedule runs in real
    /// time, and local times that come twice count twice.
    let isInRealTime: Bool

    /// - Throws: ``JobError/invalidSchedule(_:)`` with what to write.
    init(_ text: String) throws {
        guard text.utf8.count <= 1000 else {
            throw CronError("is longer than 1000 bytes: divide it between several schedules")
                .of(String(text.prefix(60)) + "…")
        }
        do {
            try self.init(parsing: text)
        } catch let error as CronError {
            throw error.of(text)
        }
    }

    private init(parsing text: String) throws {
        let fields = try Self.fields(of: text)
        let parts = try zip(CronField.all, fields).map { try $0.parse($1) }
        self.text = parts.map(\.text).joined(separator: " ")
        (minutes, hours, days) = (parts[0].values, parts[1].values, parts[2].values)
        (months, weekdays) = (parts[3].values, parts[4].values)
        hasLastDay = parts[2].hasLastDay
        isInRealTime = parts[0].beginsWithStar || parts[1].beginsWithStar
        needsBothDays = parts[2].beginsWithStar || parts[4].beginsWithStar
        // The days of the week and the leap years return after 28 years.
        let start = CivilDay(year: 2000, month: 1).number * 1440
        guard next(from: start, years: 28) != nil else {
            throw CronError(
                "never fires: no month '\(fields[3])' has a day '\(fields[2])'; write L for the "
                    + "last day of a month")
        }
    }

    private static let shortcuts = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    ]

    private static func fields(of text: String) throws -> [String] {
        var words = text.split { $0 == " " || $0 == "\t" }.map(String.init)
        if words.count == 1, let word = words.first, word.hasPrefix("@") {
            guard let fields = shortcuts[word.lowercased()] else {
                throw CronError(
                    "is unknown: use @hourly, @daily, @weekly, @monthly or @yearly, or five fields")
            }
            words = fields.split(separator: " ").map(String.init)
        }
        guard words.count != 6 else {
            throw CronError(
                "has 6 fields: leave out the seconds or the year; the five fields are the minute, "
                    + "hour, day, month and weekday")
        }
        guard words.count == 5 else {
            let count = words.count == 1 ? "1 field" : "\(words.count) fields"
            throw CronError(
                "has \(count): write five, the minute, hour, day, month and weekday, such as "
                    + "'30 3 * * mon-fri'")
        }
        return words
    }

    // MARK: Times

    /// Returns the first minute that the fields choose, not before a given one; nil if there is
    /// none in the years that follow.
    ///
    /// - Parameter minute: minutes since 1970 of a local time.
    func next(from minute: Int64, years: Int64 = 100) -> Int64? {
        var day = CivilDay(number: minute.flooredDivided(by: 1440))
        var first = Int(minute - day.number * 1440)
        let last = day.year + years
        while day.year <= last {
            guard months.has(day.month) else {
                (day, first) = (day.firstOfNextMonth, 0)
                continue
            }
            if matches(day), let minute = minuteOfDay(from: first) {
                return day.number * 1440 + Int64(minute)
            }
            (day, first) = (day.next, 0)
        }
        return nil
    }

    private func matches(_ day: CivilDay) -> Bool {
        let isDay = days.has(day.day) || hasLastDay && day.isLastOfMonth
        let isWeekday = weekdays.has(day.weekday)
        return needsBothDays ? isDay && isWeekday : isDay || isWeekday
    }

    private func minuteOfDay(from first: Int) -> Int? {
        if hours.has(first / 60), let minute = minutes.first(from: first % 60) {
            return first / 60 * 60 + minute
        }
        guard let hour = hours.first(from: first / 60 + 1) else { return nil }
        return minutes.first(from: 0).map { hour * 60 + $0 }
    }
}

extension UInt64 {
    fileprivate func has(_ bit: Int) -> Bool { self >> UInt64(bit) & 1 == 1 }

    /// The lowest bit that is set, from a given one on.
    fileprivate func first(from bit: Int) -> Int? {
        let rest = bit < 64 ? self >> UInt64(bit) : 0
        return rest == 0 ? nil : bit + rest.trailingZeroBitCount
    }
}

/// What is wrong with a cron text, after the text itself.
private struct CronError: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    func of(_ text: String) -> JobError { .invalidSchedule("the cron text '\(text)' \(reason)") }
}

/// One of the five fields.
private struct CronField {
    struct Parsed {
        var values: UInt64 = 0
        var text = ""
        var beginsWithStar = false
        var hasLastDay = false
    }

    let name: String
    let range: ClosedRange<Int>
    /// Names of values, from the first value of the range on.
    var names: [String] = []

    static let all = [
        CronField(name: "minute", range: 0...59),
        CronField(name: "hour", range: 0...23),
        CronField(name: "day", range: 1...31),
        CronField(
            name: "month", range: 1...12,
            names: [
                "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
            ]),
        CronField(
            name: "weekday", range: 0...7,
            names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ]

    private var isWeekday: Bool { name == "weekday" }

    private var rangeText: String {
        let numbers = "\(range.lowerBound) to \(range.upperBound)"
        guard let first = names.first, let last = names.last else { return numbers }
        return "\(numbers), or \(first) to \(last)"
    }

    func parse(_ text: String) throws -> Parsed {
        var result = Parsed()
        result.beginsWithStar = text.hasPrefix("*")
        var items: [String] = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            items.append(try add(String(item).lowercased(), of: text, to: &result))
        }
        result.text = items.joined(separator: ",")
        return result
    }

    /// - Returns: the text of the item with numbers in place of names.
    private func add(_ item: String, of field: String, to result: inout Parsed) throws -> String {
        guard !item.isEmpty else {
            throw CronError("has an empty item in the \(name) '\(field)': leave out a comma")
        }
        if item == "l", name == "day" {
            result.hasLastDay = true
            return "L"
        }
        let parts = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let (values, text) = try span(String(parts[0]), isStepped: parts.count > 1)
        let step = parts.count > 1 ? try step(String(parts[1]), of: item, values) : 1
        for value in stride(from: values.lowerBound, through: values.upperBound, by: step) {
            result.values |= 1 << UInt64(isWeekday ? value % 7 : value)
        }
        return step == 1 ? text : "\(text)/\(step)"
    }

    private func span(_ text: String, isStepped: Bool) throws -> (ClosedRange<Int>, String) {
        // Sunday has two numbers.
        if text == "*" { return (isWeekday ? 0...6 : range, "*") }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try value(String(ends[0]), of: text)
        guard ends.count > 1 else {
            guard !isStepped else {
                throw CronError(
                    "has a step after the single \(name) '\(text)': write "
                        + "\(text)-\(isWeekday ? 6 : range.upperBound)/…, or */…")
            }
            return (first...first, "\(first)")
        }
        var last = try value(String(ends[1]), of: text)
        if isWeekday, last == 0, first > 0 { last = 7 }
        guard first <= last else {
            func range(_ a: Int, _ b: Int) -> String { a == b ? "\(a)" : "\(a)-\(b)" }
            throw CronError(
                "has the \(name) range '\(text)', which goes backwards: write "
                    + "\(range(first, isWeekday ? 6 : self.range.upperBound)),"
                    + range(self.range.lowerBound, last))
        }
        return (first...last, "\(first)-\(last)")
    }

    private func step(_ text: String, of item: String, _ values: ClosedRange<Int>) throws -> Int {
        guard let step = number(text), step > 0 else {
            throw CronError(
                "has the step '\(text)' in the \(name) '\(item)': write a number from 1 on")
        }
        let width = values.upperBound - values.lowerBound + 1
        guard step < max(2, width) else {
            throw CronError(
                "has the step \(step) in the \(name) '\(item)', which leads past the end of the "
                    + "field: use .every(…) for other periods")
        }
        return step
    }

    private func value(_ text: String, of item: String) throws -> Int {
        if let index = names.firstIndex(of: text) { return range.lowerBound + index }
        guard let value = number(text) else {
            let place = text == item ? "" : " in '\(item)'"
            throw CronError(
                "has the \(name) '\(text)'\(place), which is none: use \(rangeText), *, ranges such "
                    + "as 1-5, lists such as 1,3 and steps such as */2"
                    + (name == "day" ? ", or L for the last day of the month" : ""))
        }
        guard range.contains(value) else {
            throw CronError("has the \(name) \(text), which is out of range: use \(rangeText)")
        }
        return value
    }

    /// A number without a sign; nil for other texts.
    private func number(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 4, text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int(text)
    }
}
#endif
