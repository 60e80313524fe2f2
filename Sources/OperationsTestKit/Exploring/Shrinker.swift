/// Searches for the shortest schedule that fails like a given one.
///
/// A schedule is shorter if it has fewer choices up to the last one that is not the first option;
/// then if its choices are smaller; then if it has fewer switches. The search leaves out choices,
/// lowers them and cuts them off. Because the numbers of choices change their meaning as soon as an
/// earlier choice changes, the search also moves events: to the end, or next to the previous event
/// of the same operation, as in Jalbert and Sen, "A trace simplification technique for effective
/// debugging of concurrent programs", FSE 2010. The search continues as long as it finds shorter
/// schedules, for at most two thousand runs.
struct Shrinker {
    private var best: Attempt
    private var tried: Set<[Int]> = []
    private var rest = 2_000
    private var isRepeatable = false
    private let body: (TestScheduler) throws -> Void

    static func shortest(
        _ found: Attempt, _ body: (TestScheduler) throws -> Void
    ) -> (Attempt, isRepeatable: Bool) {
        withoutActuallyEscaping(body) { body in
            var shrinker = Shrinker(best: found, body: body)
            shrinker.shrink()
            return (shrinker.best, shrinker.isRepeatable)
        }
    }

    private init(best: Attempt, body: @escaping (TestScheduler) throws -> Void) {
        self.best = best
        self.body = body
    }

    private mutating func shrink() {
        isRepeatable = accepts(best.choices, isRepetition: true)
        guard isRepeatable else { return }
        var hasShrunk = true
        while hasShrunk, rest > 0 {
            hasShrunk = cut() || move() || leaveOut() || lower()
        }
    }

    /// Runs a schedule. Returns whether it is the best one now.
    private mutating func accepts(_ choices: [Int], isRepetition: Bool = false) -> Bool {
        let choices = Array(choices.prefix((choices.lastIndex { $0 > 0 } ?? -1) + 1))
        guard tried.insert(choices).inserted else { return false }
        return accepts(Chooser(prescribed: choices), isRepetition: isRepetition)
    }

    private mutating func accepts(_ chooser: Chooser, isRepetition: Bool = false) -> Bool {
        guard rest > 0 else { return false }
        rest -= 1
        let attempt = Attempt(chooser, body)
        guard attempt.failed(like: best) else { return false }
        guard isRepetition || attempt.measure.lexicographicallyPrecedes(best.measure) else {
            return false
        }
        best = attempt
        return true
    }

    /// Tries prefixes, the shortest first, since most of a long schedule does not matter.
    private mutating func cut() -> Bool {
        let choices = best.choices
        var length = 0
        while length < choices.count {
            if accepts(Array(choices.prefix(length))) { return true }
            length = length < 16 ? length + 1 : length * 2
        }
        return !choices.isEmpty && accepts(choices.dropLast())
    }

    /// Tries to take out each choice, or to replace it by the first option.
    private mutating func leaveOut() -> Bool {
        let choices = best.choices
        for number in choices.indices.reversed() {
            var other = choices
            other.remove(at: number)
            if accepts(other) { return true }
            if choices[number] > 0 {
                other = choices
                other[number] = 0
                if accepts(other) { return true }
            }
        }
        return false
    }

    /// Tries the same events in another order.
    private mutating func move() -> Bool {
        // Every operation begins when it is taken.
        let log = best.log.filter { $0.kind != .claim }.map { guide in
            guide.kind == .begin ? Guide(.start, guide.name, queue: guide.queue) : guide
        }
        if log.count < best.log.count, accepts(Chooser(guides: log)) { return true }
        // All events of one operation come last.
        for name in Set(log.map(\.name)).sorted() {
            let others = log.filter { $0.name != name }
            if accepts(Chooser(guides: others + log.filter { $0.name == name })) { return true }
        }
        // The next event of an operation follows at once.
        for place in best.log.indices.dropLast() {
            let name = best.log[place].name
            guard best.log[place + 1].name != name,
                let next = best.log[(place + 1)...].firstIndex(where: { $0.name == name })
            else { continue }
            var other = best.log
            other.insert(other.remove(at: next), at: place + 1)
            if accepts(Chooser(guides: other)) { return true }
        }
        return false
    }

    private mutating func lower() -> Bool {
        let choices = best.choices
        for number in choices.indices where choices[number] > 1 {
            for choice in [1, choices[number] / 2, choices[number] - 1] where choice > 0 {
                var other = choices
                other[number] = choice
                if accepts(other) { return true }
            }
        }
        return false
    }
}

extension Shrinker {
    private mutating func accepts(_ choices: ArraySlice<Int>) -> Bool { accepts(Array(choices)) }
}
