import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// An actor on workers, with what the tests ask of it.
actor Camera {
    private nonisolated let executor: SerialWorkerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var inside = 0
    private(set) var pictures: [Int] = []

    init(on executor: SerialWorkerExecutor = SerialWorkerExecutor()) { self.executor = executor }

    func take(_ number: Int) {
        assertIsolated()
        inside += 1
        precondition(inside == 1)
        pictures.append(number)
        inside -= 1
    }

    func block(_ meeting: Meeting) {
        precondition(isOnWorker)
        meeting.attend()
    }

    /// Suspends while `body` runs, and then goes on here.
    func suspend(during body: @Sendable () async -> Void) async -> [Int] {
        await body()
        assertIsolated()
        return pictures
    }

    func gate(_ began: Signal, _ goOn: Signal) {
        began.send()
        goOn.wait()
    }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SerialWorkerExecutorTests {
    @Test func actorsMayBlock() async {
        let meeting = Meeting(of: 32)
        await withTaskGroup { group in
            for _ in 0..<32 { group.addTask { await Camera().block(meeting) } }
        }
    }

    @Test func runsOnePieceAtATime() async {
        let camera = Camera()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<500 { await camera.take(task * 500 + number) }
                }
            }
        }
        #expect(await camera.pictures.sorted() == Array(0..<4000))
    }

    @Test func actorCanBeEnteredWhileItAwaits() async {
        let camera = Camera()
        let pictures = await camera.suspend { await camera.take(1) }
        #expect(pictures == [1])
    }

    @Test func actorsOnOneExecutorExcludeEachOther() async {
        let executor = SerialWorkerExecutor()
        let cameras = (0..<4).map { _ in Camera(on: executor) }
        let inside = Occupancy()
        await withTaskGroup { group in
            for camera in cameras {
                group.addTask {
                    for _ in 0..<200 { await camera.enter(inside) }
                }
            }
        }
        #expect(inside.highest == 1)
    }

    /// The calls of tasks that wait for the actor come in the order of their urgency, and then of
    /// their arrival.
    @Test func moreUrgentTasksComeFirst() async {
        await #expect(processExitsWith: .success) {
            // In a process of its own, because a quality of service is used in it.
            QualityOfServiceUse.begins(rank: 1)
            let executor = SerialWorkerExecutor()
            let camera = Camera(on: executor)
            let (began, goOn) = (Signal(), Signal())
            let first = Task.detached { await camera.gate(began, goOn) }
            await onThread { _ = began.wait() }
            var tasks: [Task<Void, Never>] = []
            for (number, priority) in [
                (1, TaskPriority.background), (2, .medium), (3, .utility), (4, .medium),
            ] {
                tasks.append(Task.detached(priority: priority) { await camera.take(number) })
                let isWaiting = await comesTrue { executor.waitingCount == tasks.count }
                precondition(isWaiting)
            }
            goOn.send()
            await first.value
            for task in tasks { await task.value }
            let pictures = await camera.pictures
            precondition(pictures == [2, 4, 3, 1])
        }
    }

    @Test func executorIsReleasedWithItsActor() async {
        weak var reference: SerialWorkerExecutor?
        do {
            let executor = SerialWorkerExecutor()
            reference = executor
            let camera = Camera(on: executor)
            await camera.take(1)
        }
        #expect(await comesTrue { reference == nil })
    }
}

extension Camera {
    func enter(_ inside: Occupancy) {
        inside.enter()
        inside.leave()
    }
}

/// The state machine, event by event.
struct SerialJobsTests {
    @Test func offersOncePerUrgencyAndRunsInOrder() {
        var jobs = SerialJobs<Int>()
        var offers = [jobs.add(1, .usual), jobs.add(2, .usual)]
        #expect(offers == [.usual, nil])
        let first = jobs.begin(offered: .usual)
        #expect(first == 1)
        // While a worker runs jobs, a new one needs no offer, and another worker finds nothing.
        offers = [jobs.add(3, .usual)]
        let other = jobs.begin(offered: .usual)
        #expect(offers == [nil] && other == nil)
        let second = jobs.proceed(mayGoOn: true)
        #expect(second.next == 2 && second.offer == nil)
        let end = jobs.proceed(mayGoOn: false)
        #expect(end.next == nil && end.offer == .usual)
        let third = jobs.begin(offered: .usual)
        let rest = jobs.proceed(mayGoOn: true)
        #expect(third == 3 && rest.next == nil && rest.offer == nil)
    }

    @Test func moreUrgentJobIsOfferedAgainAndComesFirst() {
        var jobs = SerialJobs<Int>()
        let offers = [
            jobs.add(1, .background), jobs.add(2, .interactive), jobs.add(3, .utility),
        ]
        #expect(offers == [.background, .interactive, nil])
        // Whichever offer a worker comes with, it runs the most urgent job.
        let order = [
            jobs.begin(offered: .background), jobs.proceed(mayGoOn: true).next,
            jobs.proceed(mayGoOn: true).next,
        ]
        #expect(order == [2, 3, 1])
        let end = jobs.proceed(mayGoOn: true)
        let stale = jobs.begin(offered: .interactive)
        #expect(end.offer == nil && stale == nil)
    }
}
