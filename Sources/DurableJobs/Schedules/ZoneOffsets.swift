#if DurableJobs
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The offsets of a time zone, as this process knows them.
struct ZoneOffsets: Sendable {
    let identifier: String
    /// Returns the seconds that local time is ahead of UTC at a moment, in seconds since 1970.
    let offset: @Sendable (Int64) -> Int64

    init(_ identifier: String, _ offset: @escaping @Sendable (Int64) -> Int64) {
        (self.identifier, self.offset) = (identifier, offset)
    }

    init(_ zone: TimeZone) {
        self.init(zone.identifier) { second in
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
        }
    }

    /// The zone with an identifier; nil if this process knows none.
    static func known(_ identifier: String) -> ZoneOffsets? {
        TimeZone(identifier: identifier).map { ZoneOffsets($0) }
    }

    /// - Throws: ``JobError/invalidSchedule(_:)`` with what to write.
    static func named(_ identifier: String) throws -> ZoneOffsets {
        if let zone = known(identifier) { return zone }
        throw JobError.invalidSchedule(
            "there is no time zone '\(identifier)': write one such as 'Europe/Berlin' or 'GMT'; a "
                + "program that imports FoundationEssentials alone knows only the latter: let it "
                + "import Foundation, too")
    }
}

/// The moments at which cron fields choose a local time of a zone. Moments and local times are in
/// seconds; a local time is that of a clock on the wall, as if it were one of UTC.
struct CronTimes {
    let fields: CronFields
    let zone: ZoneOffsets

    /// No local time differs more from UTC.
    private static let farthest: Int64 = 16 * 3600
    /// After the time in which a clock may have been set back, it is ahead of all earlier times.
    private static let memory: Int64 = 48 * 3600

    /// Returns the first moment after a given one; nil if there is none in a century.
    func next(after second: Int64) -> Int64? {
        fields.isInRealTime ? nextInRealTime(after: second) : nextOnce(after: second)
    }

    // MARK: Real time

    /// The first moment whose local minute the fields choose.
    private func nextInRealTime(after second: Int64) -> Int64? {
        let end = second + 100 * 366 * 86_400
        var now = second + 1
        while now < end {
            // The clock shows nothing before this, from now on.
            guard let minute = fields.next(from: ceiling(now - Self.farthest)) else { return nil }
            now = max(now, minute * 60 - Self.farthest)
            let limit = now + Self.memory
            while now < limit {
                let offset = zone.offset(now)
                guard let minute = fields.next(from: ceiling(now + offset)) else { return nil }
                let moment = minute * 60 - offset
                let change = change(after: now, before: min(limit, moment + 1))
                if moment < change { return moment }
                now = change
            }
        }
        return nil
    }

    private func ceiling(_ second: Int64) -> Int64 { -(-second).flooredDivided(by: 60) }

    // MARK: Each local time once

    /// The first moment at which the clock has reached another of the local times that the fields
    /// choose: it has shown nothing as late before. So a time that the clock skips counts when the
    /// clock is set forward, and a time that it shows twice counts the first time.
    private func nextOnce(after second: Int64) -> Int64? {
        let reached = latestLocalTime(upTo: second)
        guard let minute = fields.next(from: reached.flooredDivided(by: 60) + 1) else { return nil }
        let local = minute * 60
        var now = max(second + 1, local - Self.farthest)
        let limit = max(now, local + Self.farthest) + 1
        while now < limit {
            let offset = zone.offset(now)
            if now + offset >= local { return now }
            let change = change(after: now, before: limit)
            if local - offset < change { return local - offset }
            now = change
        }
        return nil
    }

    /// The latest local time that the clock has shown.
    private func latestLocalTime(upTo second: Int64) -> Int64 {
        var (now, latest) = (second - Self.memory, Int64.min)
        while now <= second {
            let change = change(after: now, before: second + 1)
            latest = max(latest, change - 1 + zone.offset(now))
            now = change
        }
        return latest
    }

    // MARK: Changes of the offset

    /// Returns the first moment with another offset than a given one has, or the limit. Between two
    /// changes of a zone is more than an hour.
    private func change(after moment: Int64, before limit: Int64) -> Int64 {
        let offset = zone.offset(moment)
        var same = moment
        while same < limit {
            var other = min(same + 3600, limit)
            guard zone.offset(other) != offset else {
                same = other
                continue
            }
            while other - same > 1 {
                let middle = same + (other - same) / 2
                if zone.offset(middle) == offset { same = middle } else { other = middle }
            }
            return other
        }
        return limit
    }
}
#endif
