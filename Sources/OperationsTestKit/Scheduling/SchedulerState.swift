import Operations

/// What could happen next in a test scheduler, what has happened, and its time.
///
/// A value; what is to be done about an event is done outside of the lock that guards it.
struct SchedulerState {
    /// A part of an async body, or a completion block.
    struct Piece {
        enum Work {
            case job(UnownedJob, BodyExecutor)
            case block(@Sendable () -> Void, name: String)
        }
        let work: Work

        var name: String {
            switch work {
            case .job(_, let body): body.name
            case .block(_, let name): name
            }
        }

        func belongs(to body: BodyExecutor) -> Bool {
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
        /// An operation that a slot has taken before begins.
        case begin(TakenOperation)
        /// A free slot takes the next operation and begins it.
        case start(OperationQueue)
        /// A free slot takes the next operation, and others go on before it begins.
        case take(OperationQueue)
        case piece(Piece)
        case timer(Timer)
    }

    /// What is to be done when nothing can happen at the present time.
    enum Patience {
        case none
        /// Time goes on to the next timer, if that is not after this.
        case until(Duration)
        case forever
    }

    private let time: SchedulerTime
    private(set) var hasBeenRun = false
    private(set) var steps: [Step] = []
    private(set) var decisions: [Decision] = []
    /// What was chosen, by what it is and not by its number.
    private(set) var log: [Guide] = []
    private var chooser: Chooser
    /// Whether it is recorded what happens.
    private var isRecording = true

    /// Queues that have something to start, the oldest first.
    private var offers: [OperationQueue] = []
    private var taken: [(operation: TakenOperation, name: String)] = []
    private var pieces: [Piece] = []
    /// What belongs to the step that is being made, and is no choice.
    private var inStep: [SchedulerJob] = []
    /// By deadline, and by number where that is the same.
    private var timers: [Timer] = []
    private var timerCount = 0
    private var cancelledTimers: Set<Int> = []
    private var queues: [WeakQueue] = []
    private var queueCount = 0

    /// The body that was at work last: while it can go on, that is the choice 0.
    private(set) var current: BodyExecutor?
    /// What is being run.
    private(set) var currentName: String?
    private(set) var isRunning = false
    /// In whose name everything runs that is no task itself; known while a piece of a body is run.
    var outside: CurrentTask?

    private struct WeakQueue {
        weak var queue: OperationQueue?
    }

    /// More are not held back between being taken and begun, in a queue without a width.
    private static let mostTaken = 3

    init(_ chooser: Chooser, time: SchedulerTime) {
        self.chooser = chooser
        self.time = time
    }

    // MARK: What can happen

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

    /// False if it was cancelled before.
    mutating func set(_ timer: Timer) -> Bool {
        if cancelledTimers.remove(timer.number) != nil { return false }
        let place = timers.firstIndex {
            ($0.deadline, $0.number) > (timer.deadline, timer.number)
        }
        timers.insert(timer, at: place ?? timers.endIndex)
        return true
    }

    /// Returns who is to be told; nil if nobody has to be, yet or any more.
    mutating func cancelTimer(_ number: Int) -> CheckedContinuation<Bool, Never>? {
        guard let index = timers.firstIndex(where: { $0.number == number }) else {
            cancelledTimers.insert(number)
            return nil
        }
        return timers.remove(at: index).continuation
    }

    /// Its sleep is over, so that nobody will ask for it again.
    mutating func forgetTimer(_ number: Int) { cancelledTimers.remove(number) }

    var now: Duration { time.now }

    func pass(to moment: Duration) { time.pass(to: moment) }

    // MARK: Choosing

    mutating func begins() -> Bool {
        hasBeenRun = true
        defer { isRunning = true }
        return !isRunning
    }

    mutating func ends() { isRunning = false }

    mutating func stopRecording() {
        isRecording = false
        chooser = Chooser(prescribed: [:])
    }

    mutating func takeFromStep() -> SchedulerJob? {
        inStep.isEmpty ? nil : inStep.removeFirst()
    }

    /// Decides what happens next; nil if nothing can.
    ///
    /// The order of what can happen is part of the notation of a schedule: what the current body does
    /// next, other pieces in the order in which they arrived, operations that were taken, queues from which
    /// one can be started, due timers, and queues from which one can be taken.
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
        let options = options()
        guard options.count > 0 else { return nil }
        let guides = chooser.isGuided ? (0..<options.count).map { guide(for: options[$0]) } : []
        let option = options[choose(options.count, guides)]
        if isRecording { log.append(guide(for: option)) }
        switch option {
        case .piece(let place): return .piece(pieces.remove(at: place))
        case .begin(let place): return .begin(taken.remove(at: place).operation)
        case .start(let place): return .start(offers.remove(at: place))
        case .timer(let place): return .timer(timers.remove(at: place))
        case .take(let place): return .take(offers.remove(at: place))
        }
    }

    /// What could happen next, in order.
    private struct Options {
        enum Option { case piece(Int), begin(Int), start(Int), timer(Int), take(Int) }

        let pieces: Int
        /// Where the piece is that comes first.
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
        case .take(let place): Guide(.take, "", queue: offers[place].name)
        }
    }

    /// One of so many, from 0.
    ///
    /// - Parameter guides: what these are, for a chooser that wants to know.
    mutating func choose(_ count: Int, _ guides: [Guide] = []) -> Int {
        let guided = chooser.follow(guides)
        guard count > 1 else { return 0 }
        let choice = guided ?? chooser.choose(count, at: decisions.count)
        if isRecording { decisions.append(Decision(choice: choice, count: count)) }
        return choice
    }

    // MARK: What happened

    mutating func happened(_ kind: Step.Kind, _ name: String, in body: BodyExecutor? = nil) {
        current = body
        currentName = name
        guard isRecording else { return }
        steps.append(Step(kind: kind, name: name))
        if kind == .start || kind == .take, let last = log.indices.last { log[last].name = name }
    }

    /// The operation that is being started goes on in a body of its own.
    mutating func begins(_ body: BodyExecutor) { current = body }

    mutating func stepEnded() {
        currentName = nil
        outside = nil
    }

    /// Whether a job of the current body was enqueued by a piece of it that was no piece of its task: one that
    /// only passes on that the task may go on. `Task.yield()` makes such jobs. They are no steps.
    func isRelayed(by task: CurrentTask?, to body: BodyExecutor) -> Bool {
        guard let task, let outside, body === current else { return false }
        return task == outside
    }
}

/// A job that is run with the step from which it follows.
struct SchedulerJob: Sendable {
    let job: UnownedJob
    let executor: any TaskExecutor

    func run() { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
}

/// The task that the calling thread runs, if any, to be compared with others that live at the same time.
struct CurrentTask: Sendable, Equatable {
    private let task = withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }

    var isNone: Bool { task == nil }
}
