import Operations
import OperationsRuntime

/// The possible events of a test scheduler, its past events, and its time.
///
/// This type is a value. Events are acted on outside of the lock that guards it.
struct SchedulerState {
    /// A job of an async body, or a completion block.
    struct Piece {
        enum Work {
            case job(UnownedJob, any DrivenBody)
            case block(@Sendable () -> Void, name: String)
        }
        let work: Work

        var name: String {
            switch work {
            case .job(_, let body): body.name
            case .block(_, let name): name
            }
        }

        func belongs(to body: any DrivenBody) -> Bool {
            if case .job(_, let own) = work { own === body } else { false }
        }
    }

    struct Timer {
        let number: Int
        let deadline: Duration
        let name: String
        let continuation: CheckedContinuation<Bool, Never>
    }

    enum Event {
        /// An operation that a slot has already taken begins.
        case begin(TakenOperation)
        /// A free slot takes the next operation and begins it.
        case start(OperationQueue)
        /// A free slot takes the next operation, and other events happen before the operation
        /// begins.
        case take(OperationQueue)
        case piece(Piece)
        case timer(Timer)
    }

    /// How long to wait when nothing can happen at the present time.
    enum Patience {
        case none
        /// Time advances to the next timer, if that is not later than this moment.
        case until(Duration)
        case forever
    }

    private let time: SchedulerTime
    /// How often the scheduler was run.
    private(set) var runCount = 0
    /// The number of runs before which the wait of a task was reported.
    private var reportedRunCount = -1
    private(set) var steps: [TestScheduler.Step] = []
    private(set) var decisions: [Decision] = []
    /// The chosen events, described by what they are and not by their numbers.
    private(set) var log: [Guide] = []
    private var chooser: Chooser
    /// Whether events are recorded.
    private var isRecording = true

    /// Queues that have an operation to start, the oldest offer first.
    private var offers: [OperationQueue] = []
    private var taken: [(operation: TakenOperation, name: String)] = []
    private var pieces: [Piece] = []
    /// Jobs that belong to the current step, and are not choices.
    private var inStep: [SchedulerJob] = []
    /// The timers in the order of deadline, then number.
    private var timers: [Timer] = []
    private var timerCount = 0
    private var cancelledTimers: Set<Int> = []
    private var queues: [WeakQueue] = []
    private var queueCount = 0

    /// The body that ran last: while it can continue, it is choice 0.
    private(set) var current: (any DrivenBody)?
    /// The name of what is running.
    private(set) var currentName: String?
    private(set) var isRunning = false
    /// What the scheduler knows of bodies that go to the main actor.
    enum MainActorUse {
        case unknown
        /// A body has come back from there.
        case met
        /// The main thread has not answered: something blocks it.
        case silent
    }

    var mainActor = MainActorUse.unknown
    /// The task in whose name the scheduler runs everything that is not a task itself; known while
    /// a job of a body runs.
    var outside: CurrentTask?

    private struct WeakQueue {
        weak var queue: OperationQueue?
    }

    /// The most operations of a queue that wait between being taken and begun. The limit matters
    /// for queues without a width.
    private static let mostTaken = 3

    init(_ chooser: Chooser, time: SchedulerTime) {
        self.chooser = chooser
        self.time = time
    }

    // MARK: Possible events

    mutating func add(_ queue: OperationQueue) {
        queues.removeAll { $0.queue == nil }
        queues.append(WeakQueue(queue: queue))
    }

    mutating func nextQueueNumber() -> Int {
        queueCount += 1
        return queueCount
    }

    var hasSeveralQueues: Bool { queueCount > 1 }
    var liveQueues: [OperationQueue] { queues.compactMap(\.queue) }

    mutating func offered(_ queue: OperationQueue) { offers.append(queue) }
    mutating func took(_ operation: TakenOperation, _ name: String) {
        taken.append((operation, name))
    }
    mutating func arrived(_ piece: Piece) { pieces.append(piece) }
    mutating func arrivedInStep(_ job: SchedulerJob) { inStep.append(job) }

    // MARK: Time

    mutating func newTimer() -> Int {
        timerCount += 1
        return timerCount
    }

    /// Adds a timer. Returns false if the timer was cancelled before.
    mutating func set(_ timer: Timer) -> Bool {
        if cancelledTimers.remove(timer.number) != nil { return false }
        let place = timers.firstIndex {
            ($0.deadline, $0.number) > (timer.deadline, timer.number)
        }
        timers.insert(timer, at: place ?? timers.endIndex)
        return true
    }

    /// Removes a timer. Returns the continuation to resume; nil if the timer is not set yet, or no
    /// longer.
    mutating func cancelTimer(_ number: Int) -> CheckedContinuation<Bool, Never>? {
        guard let index = timers.firstIndex(where: { $0.number == number }) else {
            cancelledTimers.insert(number)
            return nil
        }
        return timers.remove(at: index).continuation
    }

    /// Forgets a timer whose sleep is over, and which nobody can cancel any more.
    mutating func forgetTimer(_ number: Int) { cancelledTimers.remove(number) }

    var now: Duration { time.now }

    func pass(to moment: Duration) { time.pass(to: moment) }

    // MARK: Choosing

    mutating func begins() -> Bool {
        if !isRunning { runCount += 1 }
        defer { isRunning = true }
        return !isRunning
    }

    mutating func ends() { isRunning = false }

    /// Whether to report that a task waits: nothing has run the scheduler since it had been run so
    /// many times, and no other wait was reported since.
    mutating func reportsWait(after count: Int) -> Bool {
        guard !isRunning, runCount == count, reportedRunCount < count else { return false }
        reportedRunCount = count
        return true
    }

    mutating func metMainActor() {
        if mainActor == .unknown { mainActor = .met }
    }

    mutating func stopRecording() {
        isRecording = false
        chooser = Chooser(prescribed: [:])
    }

    mutating func takeFromStep() -> SchedulerJob? {
        inStep.isEmpty ? nil : inStep.removeFirst()
    }

    /// Decides what happens next; nil if nothing can.
    ///
    /// The order of the options is part of the notation of a schedule: the next piece of the
    /// current body, other pieces in the order in which they arrived, operations that were taken,
    /// queues that can start an operation, timers that are due, and queues from which an operation
    /// can be taken.
    mutating func next(_ patience: Patience) -> Event? {
        while true {
            if let event = next() { return event }
            guard let timer = timers.first else { return nil }
            switch patience {
            case .none: return nil
            case .until(let end) where timer.deadline > end: return nil
            case .until, .forever: pass(to: timer.deadline)
            }
        }
    }

    private mutating func next() -> Event? {
        // What follows a choice that does not fit says nothing.
        if chooser.misfit != nil { return nil }
        let options = options()
        guard options.count > 0 else { return nil }
        let guides = chooser.isGuided ? (0..<options.count).map { guide(for: options[$0]) } : []
        let choice = choose(options.count, guides)
        if chooser.misfit != nil { return nil }
        let option = options[choice]
        if isRecording { log.append(guide(for: option)) }
        switch option {
        case .piece(let place): return .piece(pieces.remove(at: place))
        case .begin(let place): return .begin(taken.remove(at: place).operation)
        case .start(let place): return .start(offers.remove(at: place))
        case .timer(let place): return .timer(timers.remove(at: place))
        case .take(let place): return .take(offers.remove(at: place))
        }
    }

    /// The possible next events, in order.
    private struct Options {
        enum Option { case piece(Int), begin(Int), start(Int), timer(Int), take(Int) }

        let pieces: Int
        /// The position of the piece that comes first.
        let firstPiece: Int
        let taken: Int
        let offers: Int
        let due: Int
        let overtakable: [Int]

        var count: Int { pieces + taken + offers + due + overtakable.count }

        subscript(index: Int) -> Option {
            var index = index
            if index == 0, pieces > 0 { return .piece(firstPiece) }
            if index < pieces { return .piece(index <= firstPiece ? index - 1 : index) }
            index -= pieces
            if index < taken { return .begin(index) }
            index -= taken
            if index < offers { return .start(index) }
            index -= offers
            if index < due { return .timer(index) }
            return .take(overtakable[index - due])
        }
    }

    private func options() -> Options {
        let own = current.flatMap { body in pieces.firstIndex { $0.belongs(to: body) } }
        let overtakable = offers.indices.filter { index in
            let queue = offers[index]
            return taken.count { $0.operation.queue === queue } < Self.mostTaken
                && queue.canTakeSeveral
        }
        return Options(
            pieces: pieces.count, firstPiece: own ?? 0, taken: taken.count, offers: offers.count,
            due: timers.prefix { $0.deadline <= now }.count, overtakable: overtakable)
    }

    private func guide(for option: Options.Option) -> Guide {
        switch option {
        case .piece(let place): Guide(.piece, pieces[place].name)
        case .begin(let place):
            Guide(.begin, taken[place].name, queue: taken[place].operation.queue.name)
        case .start(let place): Guide(.start, "", queue: offers[place].name)
        case .timer(let place): Guide(.timer, timers[place].name)
        case .take(let place): Guide(.claim, "", queue: offers[place].name)
        }
    }

    /// What of the prescribed schedule does not fit, at the end of a run.
    var misfit: Misfit? { chooser.misfit(after: decisions.count, in: runCount) }

    /// Returns a choice among `count` options, from 0.
    ///
    /// - Parameter guides: descriptions of the options, for a chooser that follows a list.
    mutating func choose(_ count: Int, _ guides: [Guide] = []) -> Int {
        let guided = chooser.follow(guides)
        guard count > 1 else { return 0 }
        let choice = guided ?? chooser.choose(count, at: decisions.count)
        if isRecording {
            decisions.append(Decision(choice: choice, count: count, run: max(runCount, 1)))
        }
        return choice
    }

    // MARK: Past events

    mutating func happened(
        _ kind: TestScheduler.Step.Kind, _ name: String, in body: (any DrivenBody)? = nil
    ) {
        current = body
        currentName = name
        guard isRecording else { return }
        steps.append(TestScheduler.Step(kind: kind, name: name))
        if kind == .start || kind == .claim, let last = log.indices.last { log[last].name = name }
    }

    /// Makes the body of the operation that is being started the current body.
    mutating func begins(_ body: any DrivenBody) { current = body }

    mutating func stepEnded() {
        currentName = nil
        outside = nil
    }

    /// Whether a job of the current body was enqueued by a job of that body that did not run as its
    /// task, and only passes on that the task may continue.
    ///
    /// `Task.yield()` makes such jobs. The job that was enqueued is not a step of its own.
    func isRelayed(by task: CurrentTask?, to body: any DrivenBody) -> Bool {
        guard let task, let outside, body === current else { return false }
        return task == outside
    }
}

/// A job that runs in the same step as the event from which it follows.
struct SchedulerJob: Sendable {
    let job: UnownedJob
    let executor: any TaskExecutor

    func run() {
        job.runSynchronously(on: executor.asUnownedTaskExecutor())
        ThreadContext.performEpilogue()
    }
}

/// The task that the calling thread runs, if any; to be compared only with tasks that exist at the
/// same time.
struct CurrentTask: Sendable, Equatable {
    private let task = withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }

    var isNone: Bool { task == nil }
}
