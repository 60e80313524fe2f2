#if DurableJobs
/// A day of the Gregorian calendar, without a time zone.
struct CivilDay: Sendable, Hashable {
    /// Days since 1970-01-01.
    let number: Int64
    let year: Int64
    /// 1 to 12.
    let month: Int
    /// 1 to 31.
    let day: Int

    /// 1970-01-01, counted from 1 March of the year 0: years that begin in March have their leap
    /// day at their end.
    private static let epoch: Int64 = 719_468
    private static let daysOfFourCenturies: Int64 = 146_097

    init(number: Int64) {
        self.number = number
        let count = number + Self.epoch
        let cycle = count.flooredDivided(by: Self.daysOfFourCenturies)
        var rest = count - cycle * Self.daysOfFourCenturies
        // The last century of a cycle, and the last year of four, are a day longer.
        let century = min(rest / 36_524, 3)
        rest -= century * 36_524
        let olympiad = rest / 1_461
        rest -= olympiad * 1_461
        let single = min(rest / 365, 3)
        rest -= single * 365
        // From March on, five months have 153 days.
        let fromMarch = (5 * rest + 2) / 153
        day = Int(rest - (153 * fromMarch + 2) / 5) + 1
        month = Int(fromMarch < 10 ? fromMarch + 3 : fromMarch - 9)
        year = cycle * 400 + century * 100 + olympiad * 4 + single + (month <= 2 ? 1 : 0)
    }

    /// The first day of a month.
    init(year: Int64, month: Int) {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let fromMarch = Int64((month + 9) % 12)
        let days =
            365 * yearFromMarch + yearFromMarch.flooredDivided(by: 4)
            - yearFromMarch.flooredDivided(by: 100) + yearFromMarch.flooredDivided(by: 400)
        self.init(number: days + (153 * fromMarch + 2) / 5 - Self.epoch)
    }

    /// 0 for Sunday to 6 for Saturday.
    var weekday: Int { Int((number + 4) - (number + 4).flooredDivided(by: 7) * 7) }

    var firstOfNextMonth: CivilDay {
        month == 12
            ? CivilDay(year: year + 1, month: 1) : CivilDay(year: year, month: month + 1)
    }

    var next: CivilDay { CivilDay(number: number + 1) }

    var isLastOfMonth: Bool { next.day == 1 }
}

extension Int64 {
    /// The quotient, rounded down.
    func flooredDivided(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
#endif
