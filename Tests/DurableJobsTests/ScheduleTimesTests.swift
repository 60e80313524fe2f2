#if DurableJobs
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// When schedules fire. Times are written as `2026-03-29 03:00` of the zone, or of UTC.
@Suite(.timeLimit(.minutes(5)))
struct ScheduleTimesTests {
    private func seconds(_ text: String) throws -> Int64 {
        let numbers = text.split { "-: ".contains($0) }.compactMap { Int64($0) }
        try #require(numbers.count >= 5, "\(text)")
        let month = CivilDay(year: numbers[0], month: Int(numbers[1]))
        let day = month.number + numbers[2] - 1
        let second = numbers.count > 5 ? numbers[5] : 0
        return ((day * 24 + numbers[3]) * 60 + numbers[4]) * 60 + second
    }

    private func text(_ second: Int64) -> String {
        let day = CivilDay(number: second.flooredDivided(by: 86_400))
        let rest = second - day.number * 86_400
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let seconds = rest % 60 == 0 ? "" : ":\(two(rest % 60))"
        return "\(day.year)-\(two(Int64(day.month)))-\(two(Int64(day.day))) "
            + "\(two(rest / 3600)):\(two(rest / 60 % 60))\(seconds)"
    }

    /// The next times of a schedule after a moment of UTC, each as local time and offset.
    private func next(
        _ count: Int, _ cron: String, in zone: String, after utc: String
    ) throws -> [String] {
        let schedule = try JobSchedule.cron(cron, in: zone)
        let offsets = try ZoneOffsets.named(zone)
        var time = try seconds(utc) * 1000
        return try (0..<count).map { _ in
            time = try #require(schedule.next(after: time))
            let offset = offsets.offset(time / 1000)
            let minutes = offset / 60
            return "\(text(time / 1000 + offset)) \(minutes < 0 ? "-" : "+")\(abs(minutes))"
        }
    }

    // MARK: Fields

    @Test(arguments: [
        ("0 3 * * *", "2026-01-01 02:59:59", "2026-01-01 03:00"),
        ("0 3 * * *", "2026-01-01 03:00", "2026-01-02 03:00"),
        ("*/15 * * * *", "2026-01-01 00:14:59", "2026-01-01 00:15"),
        ("*/15 * * * *", "2026-01-01 23:45", "2026-01-02 00:00"),
        ("5,50-52 8-18/5 * * *", "2026-01-01 08:05", "2026-01-01 08:50"),
        ("5,50-52 8-18/5 * * *", "2026-01-01 08:52", "2026-01-01 13:05"),
        ("5,50-52 8-18/5 * * *", "2026-01-01 18:52", "2026-01-02 08:05"),
        ("59 23 31 12 *", "2026-12-31 23:58", "2026-12-31 23:59"),
        ("59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59"),
        ("0 0 1 JAN *", "2026-01-01 00:00", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"),
        ("0 0 29 feb *", "2096-03-01 00:00", "2104-02-29 00:00"),
        ("0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00"),
        ("0 0 L * *", "2026-01-31 00:00", "2026-02-28 00:00"),
        ("0 0 L 2 *", "2027-03-01 00:00", "2028-02-29 00:00"),
        ("0 0 1,l * *", "2026-02-01 00:00", "2026-02-28 00:00"),
        // 1 January 2026 is a Thursday.
        ("0 9 * * mon-fri", "2026-01-02 09:00", "2026-01-05 09:00"),
        ("0 9 * * 7", "2026-01-01 00:00", "2026-01-04 09:00"),
        ("0 9 * * 0", "2026-01-01 00:00", "2026-01-04 09:00"),
        ("0 9 * * Sat-Sun", "2026-01-03 09:00", "2026-01-04 09:00"),
        ("0 9 * * 5-7", "2026-01-03 09:00", "2026-01-04 09:00"),
        ("0 9 * * 5-7", "2026-01-04 09:00", "2026-01-09 09:00"),
        // Either of the days; both, if one of them begins with a star.
        ("0 0 13 * fri", "2026-01-02 00:00", "2026-01-09 00:00"),
        ("0 0 13 * fri", "2026-01-09 00:00", "2026-01-13 00:00"),
        ("0 0 */2 * mon", "2026-01-01 00:00", "2026-01-05 00:00"),
        ("0 0 */2 * mon", "2026-01-05 00:00", "2026-01-19 00:00"),
        ("0 0 13 * */5", "2026-01-02 00:00", "2026-02-13 00:00"),
        ("@hourly", "2026-01-01 00:00", "2026-01-01 01:00"),
        ("@daily", "2026-01-01 00:00", "2026-01-02 00:00"),
        ("@Weekly", "2026-01-01 00:00", "2026-01-04 00:00"),
        (" @monthly ", "2026-01-01 00:00", "2026-02-01 00:00"),
        ("@yearly", "2026-01-01 00:00", "2027-01-01 00:00"),
        ("0 0 1 1 *", "1969-12-31 12:00", "1970-01-01 00:00"),
        ("0  12\t* * *", "1899-12-31 13:00", "1900-01-01 12:00"),
    ])
    func fieldsChooseMinutes(_ cron: String, _ after: String, _ expected: String) throws {
        let schedule = try JobSchedule.cron(cron, in: "GMT")
        let next = try #require(schedule.next(after: seconds(after) * 1000))
        #expect(text(next / 1000) == expected)
        // The stored form is the same schedule.
        let stored = try JobSchedule(spec: schedule.spec, zone: "GMT", zones: ZoneOffsets.named)
        #expect(stored == schedule)
    }

    @Test(arguments: [
        ("", "has 0 fields"), ("* * * *", "has 4 fields"), ("0 0 0 * * *", "has 6 fields"),
        ("* * * * * * *", "has 7 fields"), ("noon", "has 1 field:"), ("@reboot", "is unknown"),
        ("60 * * * *", "the minute 60, which is out of range: use 0 to 59"),
        ("* 24 * * *", "the hour 24, which is out of range: use 0 to 23"),
        ("* * 0 * *", "the day 0, which is out of range: use 1 to 31"),
        ("* * 32 * *", "the day 32, which is out of range"),
        ("* * * 13 *", "the month 13, which is out of range: use 1 to 12, or jan to dec"),
        ("* * * * 8", "the weekday 8, which is out of range: use 0 to 7, or sun to sat"),
        ("* * * * monday", "the weekday 'monday', which is none"),
        ("+5 * * * *", "the minute '+5', which is none"),
        ("-5 * * * *", "the minute '' in '-5', which is none"),
        ("٣ * * * *", "the minute '٣', which is none"), ("1.5 * * * *", "'1.5', which is none"),
        ("99999999999999999999 * * * *", "which is none"),
        ("? * * * *", "the minute '?', which is none"), ("L * * * *", "the minute 'l'"),
        ("* * * * 5L", "the weekday '5l'"), ("0 0 15W * *", "the day '15w'"),
        ("1,,2 * * * *", "has an empty item in the minute '1,,2'"),
        ("1, * * * *", "has an empty item"), ("50-10 * * * *", "write 50-59,0-10"),
        ("* 22-4 * * *", "write 22-23,0-4"), ("* * * * sat-mon", "write 6,0-1"),
        ("5/15 * * * *", "write 5-59/…"), ("*/0 * * * *", "the step '0'"),
        ("*/-1 * * * *", "the step '-1'"), ("*/ * * * *", "the step ''"),
        ("*/1/2 * * * *", "the step '1/2'"), ("*/90 * * * *", "use .every(…)"),
        ("0 */24 * * *", "the step 24 in the hour"),
        ("0 3 31 2 *", "never fires: no month '2' has a day '31'"),
        ("0 3 30,31 feb *", "never fires"), ("0 0 31 4,6,9,11 *", "never fires"),
        (String(repeating: "1,", count: 600), "is longer than 1000 bytes"),
    ])
    func textsThatMakeNoSenseAreErrorsWithWhatToWrite(_ cron: String, _ part: String) throws {
        let error = #expect(throws: JobError.self) { try JobSchedule.cron(cron, in: "GMT") }
        let description = try #require(error).description
        #expect(description.contains(part), "\(description)")
        #expect(description.utf8.count < 1500)
    }

    @Test(arguments: [
        "24:00", "12:60", "12", "", ":", "1:5", "-1:00", "12:00:00", "noon", "٣:00", "007:00",
    ])
    func timesOfDayThatDoNotExistAreErrors(_ time: String) {
        #expect(throws: JobError.self) { try JobSchedule.daily(at: time, in: "GMT") }
    }

    @Test func dailyIsACronText() throws {
        let daily = try JobSchedule.daily(at: "6:05", in: "Europe/Berlin")
        #expect(try daily == .cron("5 6 * * *", in: "Europe/Berlin"))
        #expect(try daily != .cron("5 6 * * *", in: "Europe/Paris"))
        #expect(daily.description == "5 6 * * * in Europe/Berlin")
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        #expect(try daily == .daily(at: "06:05", in: zone))
    }

    @Test func zonesThatDoNotExistAreErrors() throws {
        for (zone, part) in [
            ("Europe/Nowhere", "write one such as 'Europe/Berlin'"), ("", "write one such as"),
            ("Europe/Berlin ", "write one such as"), ("Berlin", "write one such as"),
        ] {
            let error = #expect(throws: JobError.self) {
                try JobSchedule.cron("@daily", in: zone)
            }
            #expect(try #require(error).description.contains(part), "\(zone)")
        }
        #expect(throws: JobError.self) {
            try JobSchedule(
                spec: "cron 0 0 * * *", zone: "Mars/Olympus", zones: ZoneOffsets.named)
        }
        #expect(throws: JobError.self) {
            try JobSchedule(spec: "lunar 3", zone: "GMT", zones: ZoneOffsets.named)
        }
    }

    @Test func periodsAreMultiples() throws {
        let schedule = try JobSchedule.every(.seconds(300))
        let now = try seconds("2026-03-29 00:59:59") * 1000 + 999
        #expect(schedule.next(after: now).map { text($0 / 1000) } == "2026-03-29 01:00")
        #expect(schedule.next(after: -1) == 0)
        #expect(schedule.next(after: 0) == 300_000)
        #expect(schedule.last(upTo: 899_999, since: 300_000) == 600_000)
        #expect(schedule.description == "every 5 min" || schedule.description.contains("5"))
        for period in [Duration.zero, .milliseconds(999), .seconds(-5), .seconds(4e9)] {
            #expect(throws: JobError.self) { try JobSchedule.every(period) }
        }
        #expect(schedule.next(after: Date(timeIntervalSince1970: .nan)) == nil)
        #expect(schedule.next(after: .distantFuture) != nil)
    }

    // MARK: Zones

    /// A time in the gap fires once, when the clock is set forward; one that comes twice fires the
    /// first time.
    @Test func fixedTimesFireOnceADay() throws {
        #expect(
            try next(3, "30 2 * * *", in: "Europe/Berlin", after: "2026-03-28 00:00")
                == ["2026-03-28 02:30 +60", "2026-03-29 03:00 +120", "2026-03-30 02:30 +120"])
        #expect(
            try next(3, "0,30 2 * * *", in: "Europe/Berlin", after: "2026-03-28 01:15")
                == ["2026-03-28 02:30 +60", "2026-03-29 03:00 +120", "2026-03-30 02:00 +120"])
        #expect(
            try next(3, "30 2 * * *", in: "Europe/Berlin", after: "2026-10-24 12:00")
                == ["2026-10-25 02:30 +120", "2026-10-26 02:30 +60", "2026-10-27 02:30 +60"])
        #expect(
            try next(3, "30 1 * * *", in: "America/New_York", after: "2026-10-31 12:00")
                == ["2026-11-01 01:30 -240", "2026-11-02 01:30 -300", "2026-11-03 01:30 -300"])
        #expect(
            try next(2, "30 2 * * *", in: "America/New_York", after: "2026-03-07 12:00")
                == ["2026-03-08 03:00 -240", "2026-03-09 02:30 -240"])
        // The time after the gap is another one, at the same moment.
        #expect(
            try next(2, "15 2,3 * * *", in: "America/New_York", after: "2026-03-08 00:00")
                == ["2026-03-08 03:00 -240", "2026-03-08 03:15 -240"])
    }

    @Test func starsRunInRealTime() throws {
        #expect(
            try next(4, "30 * * * *", in: "America/New_York", after: "2026-03-08 06:00")
                == [
                    "2026-03-08 01:30 -300", "2026-03-08 03:30 -240", "2026-03-08 04:30 -240",
                    "2026-03-08 05:30 -240",
                ])
        #expect(
            try next(4, "30 * * * *", in: "America/New_York", after: "2026-11-01 04:45")
                == [
                    "2026-11-01 01:30 -240", "2026-11-01 01:30 -300", "2026-11-01 02:30 -300",
                    "2026-11-01 03:30 -300",
                ])
        #expect(
            try next(2, "*/30 2 * * *", in: "Europe/Berlin", after: "2026-03-29 00:45")
                == ["2026-03-30 02:00 +120", "2026-03-30 02:30 +120"])
        #expect(
            try next(2, "* 1 1 11 *", in: "America/New_York", after: "2026-11-01 05:59")
                == ["2026-11-01 01:00 -300", "2026-11-01 01:01 -300"])
    }

    /// The clock is set by half an hour.
    @Test func lordHowe() throws {
        #expect(
            try next(3, "0 2 * * *", in: "Australia/Lord_Howe", after: "2026-10-02 16:00")
                == ["2026-10-04 02:30 +660", "2026-10-05 02:00 +660", "2026-10-06 02:00 +660"])
        #expect(
            try next(3, "45 1 * * *", in: "Australia/Lord_Howe", after: "2026-04-03 20:00")
                == ["2026-04-05 01:45 +660", "2026-04-06 01:45 +630", "2026-04-07 01:45 +630"])
        #expect(
            try next(3, "*/15 * * * *", in: "Australia/Lord_Howe", after: "2026-04-04 14:45")
                == ["2026-04-05 01:30 +630", "2026-04-05 01:45 +630", "2026-04-05 02:00 +630"])
        #expect(
            try next(3, "*/15 * * * *", in: "Australia/Lord_Howe", after: "2026-10-03 15:00")
                == ["2026-10-04 01:45 +630", "2026-10-04 02:30 +660", "2026-10-04 02:45 +660"])
    }

    /// 30 December 2011 did not exist.
    @Test func apia() throws {
        #expect(
            try next(3, "0 3 * * *", in: "Pacific/Apia", after: "2011-12-29 12:00")
                == ["2011-12-29 03:00 -600", "2011-12-31 00:00 +840", "2011-12-31 03:00 +840"])
        #expect(
            try next(2, "0 3 30 12 *", in: "Pacific/Apia", after: "2011-12-29 12:00")
                == ["2011-12-31 00:00 +840", "2012-12-30 03:00 +840"])
        #expect(
            try next(2, "0 */12 * * *", in: "Pacific/Apia", after: "2011-12-29 11:00")
                == ["2011-12-29 12:00 -600", "2011-12-31 00:00 +840"])
    }

    /// The clock is set back for Ramadan, and forward afterwards.
    @Test func casablanca() throws {
        #expect(
            try next(3, "30 2 * * *", in: "Africa/Casablanca", after: "2025-02-22 12:00")
                == ["2025-02-23 02:30 +60", "2025-02-24 02:30 +0", "2025-02-25 02:30 +0"])
        #expect(
            try next(3, "30 2 * * *", in: "Africa/Casablanca", after: "2025-04-05 12:00")
                == ["2025-04-06 03:00 +60", "2025-04-07 02:30 +60", "2025-04-08 02:30 +60"])
    }

    @Test func lastTimeIsFoundWithoutAllBeforeIt() throws {
        let schedule = try JobSchedule.cron("* * * * *", in: "Europe/Berlin")
        let first = try seconds("2000-01-01 00:00") * 1000
        let moment = try seconds("2026-06-01 12:34:56") * 1000
        #expect(
            schedule.last(upTo: moment, since: first).map { text($0 / 1000) } == "2026-06-01 12:34")
        let rare = try JobSchedule.cron("0 0 29 2 *", in: "GMT")
        let leap = try seconds("2024-02-29 00:00") * 1000
        #expect(rare.last(upTo: moment, since: try seconds("2000-02-29 00:00") * 1000) == leap)
        #expect(rare.last(upTo: leap, since: leap) == leap)
        #expect(rare.last(upTo: leap - 1, since: leap) == nil)
    }

    // MARK: An oracle

    /// Fields that are lists of values, which the oracle reads as sets.
    private struct RandomFields {
        var values: [Set<Int>] = []
        var texts: [String] = []

        init(_ generator: inout some RandomNumberGenerator) {
            for (index, range) in [0...59, 0...23, 1...31, 1...12, 0...6].enumerated() {
                let isTime = index < 2
                switch Int.random(in: 0..<(isTime ? 4 : 3), using: &generator) {
                case 0 where isTime, 0,
                    1 where !isTime:
                    values.append(Set(range))
                    texts.append("*")
                case 1:
                    let step = Int.random(in: 2...12, using: &generator)
                    values.append(Set(stride(from: 0, through: range.upperBound, by: step)))
                    texts.append("*/\(step)")
                default:
                    let count = Int.random(in: 1...(isTime ? 4 : 12), using: &generator)
                    let chosen = Set(
                        (0..<count).map { _ in Int.random(in: range, using: &generator) })
                    values.append(chosen)
                    texts.append(chosen.sorted().map(String.init).joined(separator: ","))
                }
            }
        }

        var text: String { texts.joined(separator: " ") }

        func chooses(minute: Int64, on day: (day: Int, month: Int, weekday: Int)) -> Bool {
            guard values[0].contains(Int(minute % 60)), values[1].contains(Int(minute / 60)),
                values[3].contains(day.month)
            else { return false }
            let (isDay, isWeekday) = (values[2].contains(day.day), values[4].contains(day.weekday))
            return texts[2] == "*" || texts[4] == "*" ? isDay && isWeekday : isDay || isWeekday
        }
    }

    /// Walks each minute, with the days of Foundation's calendar in UTC.
    @Test(arguments: [
        ("Europe/Berlin", "2026-03-29 01:00"), ("Europe/Berlin", "2026-10-25 01:00"),
        ("America/New_York", "2026-03-08 07:00"), ("America/New_York", "2026-11-01 06:00"),
        ("Australia/Lord_Howe", "2026-04-04 15:00"), ("Australia/Lord_Howe", "2026-10-03 15:30"),
        ("Pacific/Apia", "2011-12-30 10:00"), ("Africa/Casablanca", "2025-04-06 02:00"),
        ("America/Sao_Paulo", "2018-11-04 03:00"), ("Asia/Gaza", "2023-04-28 22:00"),
        ("GMT", "2024-02-29 12:00"), ("Asia/Kolkata", "2025-12-31 18:30"),
    ])
    func nextTimesAreThoseOfASlowWalk(_ zone: String, _ middle: String) throws {
        let offsets = try ZoneOffsets.named(zone)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        var days: [Int64: (day: Int, month: Int, weekday: Int)] = [:]
        func day(_ number: Int64) -> (day: Int, month: Int, weekday: Int) {
            if let known = days[number] { return known }
            let date = Date(timeIntervalSince1970: Double(number * 86_400))
            let parts = calendar.dateComponents([.day, .month, .weekday], from: date)
            let result = (parts.day ?? 0, parts.month ?? 0, (parts.weekday ?? 0) - 1)
            days[number] = result
            return result
        }
        let seed = UInt64.random(in: 0 ... .max)
        var generator = Seeded(state: seed)
        let length: Int64 = 3 * 1440
        let start = try seconds(middle) / 60 - length / 2
        let locals = (start - 2880...start + length).map { $0 + offsets.offset($0 * 60) / 60 }
        var count = 0
        for _ in 0..<60 {
            let fields = RandomFields(&generator)
            guard let schedule = try? JobSchedule.cron(fields.text, in: zone) else { continue }
            let isInRealTime = fields.texts[0].hasPrefix("*") || fields.texts[1].hasPrefix("*")
            var expected: [Int64] = []
            var reached = locals[0]
            for (index, local) in locals.enumerated() {
                let minute = start - 2880 + Int64(index)
                let isNew = isInRealTime || local > reached
                let candidates = isInRealTime || !isNew ? local...local : reached + 1...local
                if minute > start, isNew,
                    candidates.contains(where: { local in
                        let number = local.flooredDivided(by: 1440)
                        return fields.chooses(minute: local - number * 1440, on: day(number))
                    })
                {
                    expected.append(minute * 60_000)
                }
                reached = max(reached, local)
            }
            var found: [Int64] = []
            var time = start * 60_000
            while let next = schedule.next(after: time), next <= (start + length) * 60_000 {
                found.append(next)
                time = next
            }
            #expect(found == expected, "\(fields.text), seed \(seed)")
            count += found.count
            if let first = expected.first {
                for moment in [start + 100, start + length / 2, start + length] {
                    #expect(
                        schedule.last(upTo: moment * 60_000, since: first)
                            == expected.last { $0 <= moment * 60_000 },
                        "\(fields.text), seed \(seed)")
                }
            }
        }
        #expect(count > 100, "seed \(seed)")
    }

    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29) &* 0x9E37_79B9_7F4A_7C15
        }
    }
}
#endif
