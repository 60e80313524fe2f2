import OperationsRuntime

/// One choice among several possible events.
struct Decision: Sendable, Equatable {
    let choice: Int
    let count: Int
    /// In which run of the scheduler the decision was made, from 1.
    var run = 1
}

/// What of a prescribed schedule does not fit.
struct Misfit: Sendable, Equatable {
    /// The number of the decision, from 0.
    let decision: Int
    /// The prescribed choice, from 0.
    let choice: Int
    /// The number of options; 0 if the decision was not reached.
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
    /// In which runs the prescribed choices have to be made; nil if they need not fit.
    private var runs: [Int: Int]?
    /// The first prescribed choice that was not possible, of those that have to fit.
    private(set) var misfit: Misfit?

    init(seed: UInt64) {
        prescribed = [:]
        generator = SplitMix64(seed: seed)
    }

    init(prescribed: [Int: Int]) {
        self.prescribed = prescribed
        generator = nil
    }

    /// Makes the choices of a schedule, which has to fit.
    init(_ schedule: [Int: ScheduleText.Choice]) {
        self.init(prescribed: schedule.mapValues(\.option))
        runs = schedule.mapValues(\.run)
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
        let choice = prescribed[number] ?? 0
        if choice >= count, runs != nil, misfit == nil {
            misfit = Misfit(decision: number, choice: choice, count: count)
        }
        // In an exploration the program may differ from the one whose schedule is varied.
        return min(choice, count - 1)
    }

    /// Returns what does not fit at the end of a run: a choice that was not possible, or that the
    /// run has not reached.
    ///
    /// - Parameters:
    ///   - count: the number of decisions so far.
    ///   - run: the number of the run that ends.
    func misfit(after count: Int, in run: Int) -> Misfit? {
        if let misfit { return misfit }
        guard let runs else { return nil }
        let first = runs.filter { $0.key >= count && $0.value <= run }.keys.min()
        return first.map { Misfit(decision: $0, choice: prescribed[$0] ?? 0, count: 0) }
    }
}

extension SplitMix64 {
    /// Returns a number from 0 up to, but not including, `count`, evenly distributed.
    mutating func next(below count: Int) -> Int {
        Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(count)).high)
    }
}

/// The notation of a schedule: the decisions that did not choose the first option, as
/// `number:choice`, both from 1. A decision of a later run of the scheduler than the first one is
/// `number:choice/run`.
enum ScheduleText {
    struct Choice: Sendable, Equatable {
        /// The option, from 0.
        let option: Int
        /// The number of the run, from 1.
        let run: Int
    }

    static func text(of decisions: some Sequence<Decision>) -> String {
        decisions.enumerated().filter { $0.element.choice > 0 }.map { number, decision in
            let run = decision.run > 1 ? "/\(decision.run)" : ""
            return "\(number + 1):\(decision.choice + 1)\(run)"
        }
        .joined(separator: " ")
    }

    /// Returns the choices; nil if the text is not a schedule.
    static func choices(in text: String) -> [Int: Choice]? {
        var choices: [Int: Choice] = [:]
        for part in text.split(separator: " ") {
            let parts = part.split(separator: "/", omittingEmptySubsequences: false)
            let numbers = parts[0].split(separator: ":", omittingEmptySubsequences: false)
                .map { Int($0) }
            let run = parts.count == 1 ? 1 : Int(parts[1])
            guard numbers.count == 2, parts.count < 3, let number = numbers[0],
                let choice = numbers[1], let run, number > 0, choice > 0, run > 0
            else { return nil }
            choices[number - 1] = Choice(option: choice - 1, run: run)
        }
        return choices
    }
}
