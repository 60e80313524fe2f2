#if DurableJobs
import OperationsRuntime

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The times at which a schedule enqueues a job.
///
/// ```swift
/// try JobSchedule.cron("0 3 * * mon-fri", in: "Europe/Berlin")
/// try JobSchedule.daily(at: "18:30", in: TimeZone.current)
/// try JobSchedule.every(.seconds(300))
/// ```
///
/// The value is pure: it depends on no clock. ``next(after:)`` says when it fires.
public struct JobSchedule: Sendable, Hashable, CustomStringConvertible {
    enum Rule: Sendable, Hashable {
        case cron(CronFields)
        /// Milliseconds.
        case every(Int64)
    }

    let rule: Rule
    /// Nil for a period.
    let zone: ZoneOffsets?

    /// The minutes of a local time that the five fields of a cron text choose.
    ///
    /// The fields are the minute, hour, day of the month, month, and day of the week, from 0 for
    /// Sunday to 7, which is Sunday, too. Each is `*`, or a list of values and ranges, some of them
    /// with a step: `1,15`, `mon-fri`, `*/10`, `8-18/2`. Months and weekdays have the English
    /// names of three letters. `L` is the last day of the month. `@hourly`, `@daily`, `@weekly`,
    /// `@monthly` and `@yearly` stand for five fields. If both the day of the month and the day of
    /// the week are limited, a day that satisfies one of them is enough; if one of them begins with
    /// `*`, a day satisfies both.
    ///
    /// Where a clock is set forward or back, this is what cron of Debian and of many other systems
    /// does:
    ///
    /// - If the minute or the hour begins with `*`, the schedule runs in real time: it fires
    ///   whenever the clock shows one of its times. So it fires twice for times that come twice,
    ///   and not at all for times that are skipped.
    /// - Otherwise each local time counts once. Times that are skipped fire once, at the moment at
    ///   which the clock is set forward; a time that comes twice fires the first time.
    ///
    /// - Parameters:
    ///   - text: at most 1000 bytes.
    ///   - zone: the zone of the local time.
    /// - Throws: ``JobError/invalidSchedule(_:)``, also if the fields choose no time at all, such
    ///   as 31 February.
    public static func cron(_ text: String, in zone: TimeZone) throws -> JobSchedule {
        JobSchedule(rule: .cron(try CronFields(text)), zone: ZoneOffsets(zone))
    }

    /// As ``cron(_:in:)-(_,TimeZone)``, with the name of a zone, such as `Europe/Berlin`.
    ///
    /// - Throws: ``JobError/invalidSchedule(_:)``, also if this process knows no such zone.
    public static func cron(_ text: String, in zone: String) throws -> JobSchedule {
        JobSchedule(rule: .cron(try CronFields(text)), zone: try ZoneOffsets.named(zone))
    }

    /// One local time of each day. The same as a cron text with this minute and hour.
    ///
    /// - Parameters:
    ///   - time: hours and minutes, from `00:00` to `23:59`.
    ///   - zone: the zone of the local time.
    /// - Throws: ``JobError/invalidSchedule(_:)``.
    public static func daily(at time: String, in zone: TimeZone) throws -> JobSchedule {
        try cron(cronText(daily: time), in: zone)
    }

    /// As ``daily(at:in:)-(_,TimeZone)``, with the name of a zone, such as `Europe/Berlin`.
    ///
    /// - Throws: ``JobError/invalidSchedule(_:)``, also if this process knows no such zone.
    public static func daily(at time: String, in zone: String) throws -> JobSchedule {
        try cron(cronText(daily: time), in: zone)
    }

    private static func cronText(daily time: String) throws -> String {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        let isDigits = parts.allSatisfy { part in
            (1...2).contains(part.utf8.count) && part.utf8.allSatisfy { (48...57).contains($0) }
        }
        guard parts.count == 2, isDigits, parts[1].utf8.count == 2, let hour = Int(parts[0]),
            let minute = Int(parts[1]), hour < 24, minute < 60
        else {
            throw JobError.invalidSchedule(
                "'\(time.prefix(60))' is no time of a day: write hours and minutes from 00:00 to "
                    + "23:59")
        }
        return "\(minute) \(hour) * * *"
    }

    /// The multiples of a duration since the beginning of 1970 in UTC: `.every(.seconds(300))`
    /// fires at each fifth minute of an hour, whenever the program has started.
    ///
    /// - Parameter period: from a second to a century. A part below a millisecond is dropped.
    /// - Throws: ``JobError/invalidSchedule(_:)``.
    public static func every(_ period: Duration) throws -> JobSchedule {
        guard period >= .seconds(1), period <= period.limitedForStore else {
            throw JobError.invalidSchedule(
                "the period \(period) is too \(period < .seconds(1) ? "short" : "long"): use one "
                    + "from a second to a century")
        }
        return JobSchedule(rule: .every(period.milliseconds), zone: nil)
    }

    /// Returns the first time after a moment.
    ///
    /// - Returns: nil if there is none in the next century, or if the moment is no date of our
    ///   calendar.
    /// - Complexity: about a hundred looks at the zone.
    public func next(after date: Date) -> Date? {
        let time = (date.timeIntervalSince1970 * 1000).rounded(.down)
        guard time.isFinite, abs(time) < 1e15 else { return nil }
        return next(after: Int64(time)).map { Date(milliseconds: $0) }
    }

    /// - Parameter time: milliseconds since 1970, as the result.
    func next(after time: Int64) -> Int64? {
        switch rule {
        case .every(let period): (time.flooredDivided(by: period) + 1) * period
        case .cron(let fields):
            zone.flatMap { zone in
                CronTimes(fields: fields, zone: zone)
                    .next(after: time.flooredDivided(by: 1000)).map { $0 * 1000 }
            }
        }
    }

    /// Returns the last time that is not after a moment, and not before another one, which is a
    /// time of the schedule.
    ///
    /// - Complexity: O(the logarithm of the time between) calls of ``next(after:)-(Int64)``, and
    ///   one for each time in the last part of it that has any.
    func last(upTo moment: Int64, since first: Int64) -> Int64? {
        guard first <= moment else { return nil }
        if case .every(let period) = rule { return moment.flooredDivided(by: period) * period }
        var span: Int64 = 60_000
        while span < moment - first {
            if let found = next(after: moment - span), found <= moment {
                return last(from: found, upTo: moment)
            }
            span *= 2
        }
        return last(from: first, upTo: moment)
    }

    private func last(from first: Int64, upTo moment: Int64) -> Int64 {
        var last = first
        while let next = next(after: last), next <= moment { last = next }
        return last
    }

    /// The schedule for people, such as `0 3 * * 1-5 in Europe/Berlin`, or `every 5 minutes`.
    public var description: String {
        switch rule {
        case .every(let period): "every \(Duration.milliseconds(period).text)"
        case .cron(let fields): "\(fields.text) in \(zone?.identifier ?? "GMT")"
        }
    }

    /// Whether two schedules have the same rule, and zones of the same name.
    public static func == (a: JobSchedule, b: JobSchedule) -> Bool {
        a.rule == b.rule && a.zone?.identifier == b.zone?.identifier
    }

    /// Hashes the rule, and the name of the zone.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rule)
        hasher.combine(zone?.identifier)
    }
}

// MARK: The stored form

extension JobSchedule {
    /// The rule as text.
    var spec: String {
        switch rule {
        case .every(let period): "every \(period)"
        case .cron(let fields): "cron \(fields.text)"
        }
    }

    /// - Throws: ``JobError/invalidSchedule(_:)`` if the text is of a newer version of the library,
    ///   or if this process does not know the zone.
    init(
        spec: String, zone identifier: String?, zones: (String) throws -> ZoneOffsets
    ) throws {
        let parts = spec.split(separator: " ", maxSplits: 1).map(String.init)
        switch (parts.first, parts.last) {
        case ("every"?, let text?):
            guard let period = Int64(text), period > 0 else { fallthrough }
            self.init(rule: .every(period), zone: nil)
        case ("cron"?, let text?):
            guard let identifier else { fallthrough }
            self.init(rule: .cron(try CronFields(text)), zone: try zones(identifier))
        default:
            throw JobError.invalidSchedule(
                "'\(spec)' is a schedule of a newer version of the library: update this program")
        }
    }
}
#endif
