import OperationsRuntime

/// One choice among several possible events.
struct Decision: Sendable, Equatable {
    let choice: Int
    let count: Int
}

/// A possible event, described by what it is rather than by its number, so that it can be
/// recognized in a schedule with another order.
struct Guide: Sendable {
    enum Kind { case piece, begin, start, timer, claim }

    var kind: Kind
    /// The name of the operation. Which operation a queue starts is known only once it has started.
    var name: String
    let queue: String?

    init(_ kind: Kind, _ name: String, queue: String? = nil) {
        (self.kind, self.name, self.queue) = (kind, name, queue)
    }

    func isSame(as other: Guide) -> Bool {
        guard kind == other.kind, queue == other.queue else { return false }
        return kind == .start || kind == .claim || name == other.name
    }
}

/// Chooses what happens next: as prescribed, and beyond that at random or the first option.
struct Chooser: Sendable {
    /// The prescribed choices, by the number of the decision, from 0.
    private let prescribed: [Int: Int]
    private var generator: SplitMix64?
    /// The events that are to happen, in order, as far as possible.
    private var guides: [Guide] = []

    init(seed: UInt64) {
        prescribed = [:]
        generator = SplitMix64(seed: seed)
    }

    init(prescribed: [Int: Int]) {
        self.prescribed = prescribed
        generator = nil
    }

    init(prescribed: [Int]) {
        var choices: [Int: Int] = [:]
        for (number, choice) in prescribed.enumerated() where choice > 0 {
            choices[number] = choice
        }
        self.init(prescribed: choices)
    }

    /// Chooses the possible event that comes first in a list, and beyond that the first option.
    init(guides: [Guide]) {
        self.init(prescribed: [:])
        self.guides = guides
    }

    var isGuided: Bool { !guides.isEmpty }

    /// Returns which of the options comes first in the list, and removes it from there.
    mutating func follow(_ options: [Guide]) -> Int? {
        guard isGuided else { return nil }
        for (place, guide) in guides.enumerated() {
            guard let choice = options.firstIndex(where: { $0.isSame(as: guide) }) else { continue }
            guides.remove(at: place)
            return choice
        }
        return nil
    }

    mutating func choose(_ count: Int, at number: Int) -> Int {
        if generator != nil { return generator?.next(below: count) ?? 0 }
        // The program may differ from the one whose schedule was recorded.
        return min(prescribed[number] ?? 0, count - 1)
    }
}

extension SplitMix64 {
    /// Returns a number from 0 up to, but not including, `count`, evenly distributed.
    mutating func next(below count: Int) -> Int {
        Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(count)).high)
    }
}

/// The notation of a schedule: the decisions that did not choose the first option, as
/// `number:choice`, both from 1.
enum ScheduleText {
    static func text(of choices: some Sequence<Int>) -> String {
        choices.enumerated().filter { $0.element > 0 }
            .map { "\($0.offset + 1):\($0.element + 1)" }.joined(separator: " ")
    }

    /// Returns the choices; nil if the text is not a schedule.
    static func choices(in text: String) -> [Int: Int]? {
        var choices: [Int: Int] = [:]
        for part in text.split(separator: " ") {
            let numbers = part.split(separator: ":", omittingEmptySubsequences: false).map {
                Int($0)
            }
            guard numbers.count == 2, let number = numbers[0], let choice = numbers[1], number > 0,
                choice > 0
            else { return nil }
            choices[number - 1] = choice - 1
        }
        return choices
    }
}
