/// The time at which a photo was taken, as the clock of the camera showed it.
///
/// Many cameras do not say how far their clock is ahead of UTC. Photos are therefore compared by
/// their clocks, as people remember a day.
public struct PhotoTime: Sendable, Hashable {
    /// The seconds from the beginning of 1970 until the time, both on the camera's clock.
    public var seconds: Int
    /// How many minutes the clock is ahead of UTC; nil if the file does not say it.
    public var offset: Int?

    /// Creates a time.
    public init(seconds: Int, offset: Int? = nil) {
        self.seconds = seconds
        self.offset = offset
    }

    /// Reads a time such as `2015-04-14T18:21:09+02:00`, with or without the offset; nil if the
    /// text is no such time.
    public init?(_ text: String) {
        let numbers = text.prefix(19).split { !$0.isNumber }.compactMap { Int($0) }
        guard numbers.count == 6 else { return nil }
        // The year begins in March, so that the leap day is its last day.
        let month = (numbers[1] + 9) % 12
        let year = numbers[0] - (numbers[1] <= 2 ? 1 : 0)
        let days =
            365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + numbers[2]
            - 719_469
        seconds = ((days * 24 + numbers[3]) * 60 + numbers[4]) * 60 + numbers[5]
        offset = Self.offset(text.dropFirst(19))
    }

    /// The minutes of an offset such as `+02:00` or `Z`.
    private static func offset(_ text: Substring) -> Int? {
        if text == "Z" { return 0 }
        let numbers = text.dropFirst().split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 2, (0...23).contains(numbers[0]), (0...59).contains(numbers[1])
        else { return nil }
        switch text.first {
        case "+": return 60 * numbers[0] + numbers[1]
        case "-": return -60 * numbers[0] - numbers[1]
        default: return nil
        }
    }
}
