import Operations

/// One of several things that could happen was chosen.
struct Decision: Sendable, Equatable {
    let choice: Int
    let count: Int
}

/// Something that could happen, known by what it is in schedules of different order.
struct Guide: Sendable {
    enum Kind { case piece, begin, start, timer, take }

    var kind: Kind
    /// Of the operation. Which one a queue starts is known only when it has.
    var name: String
    let queue: String?

    init(_ kind: Kind, _ name: String, queue: String? = nil) {
        (self.kind, self.name, self.queue) = (kind, name, queue)
    }

    func isSame(as other: Guide) -> Bool {
        guard kind == other.kind, queue == other.queue else { return false }
        return kind == .start || kind == .take || name == other.name
    }
}

/// Chooses what happens next: as prescribed, and beyond that by chance or the first.
struct Chooser: Sendable {
    /// By the number of the decision, from 0.
    private let prescribed: [Int: Int]
    private var generator: SplitMix64?
    /// What is to happen, in order, as far as it can.
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

    /// Chooses what comes first in a list, of what could happen, and beyond that the first.
    init(guides: [Guide]) {
        self.init(prescribed: [:])
        self.guides = guides
    }

    var isGuided: Bool { !guides.isEmpty }

    /// Which of the options comes first in the list.
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
        // The program may be another one than that of which the schedule was noted.
        return min(prescribed[number] ?? 0, count - 1)
    }
}

extension SplitMix64 {
    /// Evenly from 0 up to, but not including, a number.
    mutating func next(below count: Int) -> Int {
        Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(count)).high)
    }
}

/// How a schedule is written down: the decisions that were not for the first of what could happen, as
/// `number:choice`, both from 1.
enum ScheduleText {
    static func text(of choices: some Sequence<Int>) -> String {
        choices.enumerated().filter { $0.element > 0 }
            .map { "\($0.offset + 1):\($0.element + 1)" }.joined(separator: " ")
    }

    /// Nil if it is no such text.
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
