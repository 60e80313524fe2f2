/// Schedules in the order of how many choices in them were not for the first of what could happen, each once.
///
/// A schedule is a prefix of choices, after which the first is chosen always. What differs from it by one
/// choice more, behind its last, is known when it was run.
struct Frontier {
    private var waiting: [[Int]] = [[]]
    private var first = 0
    private let limit: Int
    /// Whether none was left out up to now.
    private(set) var isComplete = true

    /// - Parameter limit: how many schedules are given, at most.
    init(limit: Int) { self.limit = limit }

    /// Whether all that are known have been given.
    var isExhausted: Bool { first == waiting.count }

    mutating func next() -> [Int]? {
        guard first < waiting.count else { return nil }
        defer {
            waiting[first] = []
            first += 1
        }
        return waiting[first]
    }

    /// The schedule with this prefix was run.
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
