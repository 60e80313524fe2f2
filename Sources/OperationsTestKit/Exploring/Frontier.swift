/// Schedules in the order of how many of their choices are not the first option, each once.
///
/// A schedule is a prefix of choices, after which the first option is always chosen. Running a
/// schedule shows which schedules differ from it by one more choice, behind its last one.
struct Frontier {
    private var waiting: [[Int]] = [[]]
    private var first = 0
    private let limit: Int
    /// Whether no schedule has been left out so far.
    private(set) var isComplete = true

    /// - Parameter limit: how many schedules the frontier yields, at most.
    init(limit: Int) { self.limit = limit }

    /// Whether all known schedules have been yielded.
    var isExhausted: Bool { first == waiting.count }

    mutating func next() -> [Int]? {
        guard first < waiting.count else { return nil }
        defer {
            waiting[first] = []
            first += 1
        }
        return waiting[first]
    }

    /// Adds the schedules that follow from a run with this prefix.
    mutating func went(_ prefix: [Int], _ decisions: [Decision]) {
        for number in decisions.indices.dropFirst(prefix.count) {
            for choice in 1..<decisions[number].count {
                guard waiting.count < limit else {
                    isComplete = false
                    return
                }
                let zeros = [Int](repeating: 0, count: number - prefix.count)
                waiting.append(prefix + zeros + [choice])
            }
        }
    }
}
