import Operations
import Synchronization

/// What happens to one body: a block, a node, an operation's work.
final class Work: Sendable {
    /// The step that made it, for messages.
    let step: Int
    /// Its place in the order in which one thread adds to one queue.
    let place: Place
    /// What must have ended before this may begin.
    let awaited: [Round.Part]
    let home: Home
    private let runs = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)
    private let begun = Atomic<Bool>(false)

    /// - Parameter place: where the work was added, as far as the model knows.
    init(_ step: Int, in home: Home, at place: Place = .unknown, after awaited: [Round.Part] = []) {
        (self.step, self.home, self.place, self.awaited) = (step, home, place, awaited)
    }

    var runCount: Int { runs.load(ordering: .acquiring) }
    var hasBegun: Bool { begun.load(ordering: .acquiring) }
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    func begin() {
        Heartbeat.beat()
        begun.store(true, ordering: .releasing)
        if runs.add(1, ordering: .relaxed).newValue > 1 { home.report("step \(step) ran twice") }
        for part in awaited {
            // Work of a cancelled operation need not run, but it does not stop in its middle.
            let isCancelled = part.operation?.isCancelled ?? false
            for other in part.works where !other.hasEnded && (other.hasBegun || !isCancelled) {
                home.report("step \(step) began before step \(other.step) had ended")
            }
        }
        home.enter(self)
    }

    func end() {
        home.leave()
        isOver.store(true, ordering: .releasing)
        Heartbeat.beat()
    }
}

/// Where work was added: by which thread, and as which of its additions to the queue.
struct Place: Sendable {
    let thread: Int
    let number: Int
    /// The level of priority, if work of this level must start in the order of its addition.
    let level: Int?
    /// The number of the last barrier that the thread had added before; 0 for none.
    let barrier: Int

    static let unknown = Place(thread: -1, number: 0, level: nil, barrier: 0)
}
