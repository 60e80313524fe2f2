import OperationsTestSupport
import PhotoLibrary
import PhotoPipeline
import Testing

/// Compares random event sequences with a simple and slow model.
@Suite(.ownThreads) struct PhotoListControllerRandomTests {
    @Test(arguments: seeds(1, 2, 3, 4))
    func randomEventsMatchModel(seed: UInt64) {
        var history = RandomHistory(seed: seed)
        let steps = nightRounds(20_000)
        for step in 0..<steps {
            let event = history.next()
            let violations = history.perform(event)
            #expect(violations.isEmpty, "seed \(seed), step \(step), \(event): \(violations)")
            guard violations.isEmpty else { return }
        }
        #expect(history.startCount > steps / 20, "seed \(seed) started almost nothing")
    }
}

/// Generates random events of a page and its queues, and checks the resulting actions.
private struct RandomHistory {
    enum Event {
        case dragBegan, dragEnded(willDecelerate: Bool)
        case viewport(Range<Int>)
        case downloaded(Attempt), filtered(Attempt), failed(Attempt), cancelled(Attempt)
        case retry(Int), changed([PhotoRecord], rows: Set<Int>)
    }

    struct Attempt { let row: Int, generation: Generation }

    private var random: SeededGenerator
    private let list: ControllerHarness

    // The model: the phase, the viewport, and the state of each row.
    private enum Phase { case settled, dragging, decelerating }
    private var phase = Phase.settled
    private var states: [PhotoState]
    private var originals: [PhotoRecord]
    /// The number of photos so far, so that each has another name.
    private var photoCount: Int
    private var shown: [PictureVersion?]
    private var reported = 0..<0
    private var running: [Int: Attempt] = [:]
    /// All attempts so far, so that results of old attempts can be reported too.
    private var attempts: [Attempt] = []
    /// Visible rows that were cancelled from outside; they wait until the list settles again.
    private var abandoned: Set<Int> = []
    private(set) var startCount = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...300, using: &random)
        list = ControllerHarness(photoCount: count)
        states = Array(repeating: .new, count: count)
        originals = photos(count)
        photoCount = count
        shown = Array(repeating: nil, count: count)
    }

    // MARK: Choosing an event

    mutating func next() -> Event {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<12: .dragBegan
        case 12..<30: .dragEnded(willDecelerate: Bool.random(using: &random))
        case 30..<46: .viewport(randomRows())
        case 46..<88: randomResult()
        case 88..<93: .retry(randomRow())
        default: randomChange()
        }
    }

    private mutating func randomRow() -> Int {
        Int.random(in: -2..<(states.count + 2), using: &random)
    }

    private mutating func randomChange() -> Event {
        var records = originals
        var rows: Set<Int> = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            guard let row = records.indices.randomElement(using: &random) else { break }
            records[row] = photos(1, from: photoCount)[0]
            photoCount += 1
            rows.insert(row)
        }
        return .changed(records, rows: rows)
    }

    private mutating func randomRows() -> Range<Int> {
        let top = Int.random(in: -5..<(states.count + 5), using: &random)
        return top..<(top + Int.random(in: 0..<20, using: &random))
    }

    private mutating func randomResult() -> Event {
        // Mostly results of attempts in progress; sorted by row, so that a seed is repeatable.
        let current = running.keys.sorted().randomElement(using: &random).flatMap { running[$0] }
        let isOld = Int.random(in: 0..<6, using: &random) == 0
        let old = attempts.suffix(200).randomElement(using: &random)
        guard let attempt = isOld ? old ?? current : current ?? old else { return .dragBegan }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<9: return .downloaded(attempt)
        case 9..<16: return .filtered(attempt)
        case 16..<19: return .failed(attempt)
        default: return .cancelled(attempt)
        }
    }

    // MARK: Performing an event

    /// Performs an event on the controller and on the model; returns the violations of the rule.
    mutating func perform(_ event: Event) -> [String] {
        let wasSettled = phase == .settled
        let old = reported
        let actions = send(event)
        updateModel(event)
        var violations = check(actions)
        let settlesNow = !wasSettled && phase == .settled
        let suspendsNow = wasSettled && phase != .settled
        let moved = phase == .settled && old != reported
        if settlesNow || moved { abandoned = [] }
        if actions.contains(.suspendQueues) != suspendsNow { violations.append("suspending") }
        if actions.contains(.resumeQueues) != settlesNow { violations.append("resuming") }
        if settlesNow { violations += checkOrder(actions) }
        return violations + checkTables()
    }

    private func send(_ event: Event) -> [PhotoListAction] {
        switch event {
        case .dragBegan: list.dragBegan()
        case .dragEnded(let willDecelerate): list.dragEnded(willDecelerate: willDecelerate)
        case .viewport(let rows): list.viewport(rows)
        case .downloaded(let attempt): list.downloaded(attempt.row, attempt.generation)
        case .filtered(let attempt): list.filtered(attempt.row, attempt.generation)
        case .failed(let attempt): list.failed(attempt.row, attempt.generation, lostConnection)
        case .cancelled(let attempt): list.cancelled(attempt.row, attempt.generation)
        case .retry(let row): list.retry(row)
        case .changed(let records, let rows):
            list.listChanged(records, order: Array(records.indices), changed: rows)
        }
    }

    /// Changes the model's phase, viewport and states; `check` changes the work in progress.
    private mutating func updateModel(_ event: Event) {
        switch event {
        case .dragBegan: phase = .dragging
        case .dragEnded(let willDecelerate):
            if phase != .settled { phase = willDecelerate ? .decelerating : .settled }
        case .viewport(let rows): reported = rows
        case .downloaded(let attempt):
            if isRunning(attempt), states[attempt.row] == .new { states[attempt.row] = .downloaded }
        case .filtered(let attempt): end(attempt, as: .filtered)
        case .failed(let attempt): end(attempt, as: .failed(lostConnection))
        case .cancelled(let attempt):
            if isRunning(attempt) {
                running[attempt.row] = nil
                abandoned.insert(attempt.row)
            }
        case .retry(let row):
            if states.indices.contains(row), states[row].failure != nil { states[row] = .new }
        case .changed(let records, let rows):
            originals = records
            for row in rows { states[row] = .new }
            // A settled list looks at all its visible rows again.
            if phase == .settled { abandoned = [] }
        }
    }

    private func isRunning(_ attempt: Attempt) -> Bool {
        running[attempt.row]?.generation == attempt.generation
    }

    private mutating func end(_ attempt: Attempt, as state: PhotoState) {
        guard isRunning(attempt) else { return }
        running[attempt.row] = nil
        states[attempt.row] = state
    }

    // MARK: Checking

    /// Performs the actions on the model, and checks that each action is allowed.
    private mutating func check(_ actions: [PhotoListAction]) -> [String] {
        var violations: [String] = []
        for action in actions {
            switch action {
            case .suspendQueues, .resumeQueues: break
            case .cancel(let row, let generation):
                if running[row.index]?.generation != generation {
                    violations.append("cancelled \(row), which was not in progress")
                }
                running[row.index] = nil
            case .start(let row, let generation, let stage, let record):
                violations += checkStart(row.index, generation, stage, record)
            case .show(let change): violations += checkShow(change)
            }
        }
        return violations
    }

    private mutating func checkStart(
        _ row: Int, _ generation: Generation, _ stage: PhotoWorkStage, _ record: PhotoRecord
    ) -> [String] {
        var violations: [String] = []
        if phase != .settled { violations.append("started row \(row) during a scroll") }
        if running[row] != nil { violations.append("row \(row) is in progress twice") }
        if !reported.contains(row) { violations.append("started row \(row) off the screen") }
        if let last = attempts.last, last.generation >= generation {
            violations.append("generation used twice")
        }
        if states[row] != (stage == .download ? .new : .downloaded) {
            violations.append("row \(row) is \(states[row]) and started from \(stage)")
        }
        if record != list.records[row] {
            violations.append("row \(row) got the record of another row")
        }
        let attempt = Attempt(row: row, generation: generation)
        running[row] = attempt
        attempts.append(attempt)
        startCount += 1
        return violations
    }

    private mutating func checkShow(_ change: PhotoRowChange) -> [String] {
        let row = change.row.index
        var violations: [String] = []
        if change.state != states[row] { violations.append("row \(row) shows \(change.state)") }
        if let last = shown[row], change.version < last { violations.append("version decreased") }
        shown[row] = change.version
        return violations
    }

    /// When the list settles, the order is: cancel, start, resume.
    private func checkOrder(_ actions: [PhotoListAction]) -> [String] {
        let ranks = actions.map { action in
            switch action {
            case .cancel: 0
            case .start: 1
            case .resumeQueues: 2
            case .suspendQueues, .show: 3
            }
        }
        return ranks == ranks.sorted() && ranks.last == 2 ? [] : ["order is \(ranks)"]
    }

    private func checkTables() -> [String] {
        var violations: [String] = []
        if list.records.map(\.state) != states { violations.append("states differ") }
        if list.counts != PhotoStateCounts(of: list.records) { violations.append("counts differ") }
        let attempts = list.work.mapValues(\.generation)
        let expected = running.map { (Row($0), $1.generation) }
        if attempts != Dictionary(uniqueKeysWithValues: expected) {
            violations.append("work in progress differs")
        }
        if list.isSuspended != (phase != .settled) { violations.append("suspension differs") }
        if phase == .settled { violations += checkScreen() }
        return violations
    }

    /// While the list is settled, visible rows are done or in progress, and no other rows are in
    /// progress.
    private func checkScreen() -> [String] {
        let waiting = reported.clamped(to: 0..<states.count).filter { row in
            (states[row] == .new || states[row] == .downloaded) && running[row] == nil
                && !abandoned.contains(row)
        }
        let unseen = running.keys.filter { !reported.contains($0) }
        return waiting.map { "row \($0) is visible but not in progress" }
            + unseen.map { "row \($0) is in progress off the screen" }
    }
}
