#if DurableJobs
import DurableJobsTestKit
import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// Writes the number of its attempt, with settings of its type.
private struct Settled: Job {
    static let name = "settled"
    static let defaultTraits: [JobTrait] = [.retry(2), .unique(by: "type"), .priority(.low)]
    var text = "a"
    var more = ["z": 1, "b": 2, "m": 3]

    func perform(in context: JobContext) async throws -> Int { context.attempt }
}

@Suite(.timeLimit(.minutes(5)))
struct ScheduleContractTests {
    private static let minute: Int64 = 60_000

    private func unfinished(_ queue: JobQueue) async throws -> [String] {
        try await queue.unfinished(Echo.self).map(\.text)
    }

    /// Sets the next time of a schedule, as the passing of time does.
    private func set(_ queue: JobQueue, _ column: String, of name: String, to time: Int64)
        async throws
    {
        try await queue.change(
            "UPDATE durable_job_schedule SET \(column) = ? WHERE name = ?", .integer(time),
            .text(name))
    }

    private func fire(_ queue: JobQueue) async throws -> FiredSchedules {
        try await queue.store.fireSchedules(in: queue.name)
    }

    /// A schedule of whole minutes whose last times were a few minutes ago.
    private func lateSchedule(
        _ queue: JobQueue, late minutes: Int64, missed: JobSchedule.Missed,
        overlap: JobSchedule.Overlap = .allow
    ) async throws -> Int64 {
        try await queue.schedule(
            "late", .cron("* * * * *", in: "GMT"), missed: missed, overlap: overlap
        ) { Echo(text: "late") }
        let now = try await queue.store.now() / Self.minute * Self.minute
        try await set(queue, "next_at", of: "late", to: now - minutes * Self.minute)
        return now
    }

    // MARK: Firing

    @Test(arguments: StoreKind.allCases)
    func scheduleIsStoredAndListed(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            #expect(try await queue.schedules().isEmpty)
            let daily = try await queue.schedule(
                "digest", revision: 3, .cron("0 3 * * mon-fri", in: "Europe/Berlin"), .retry(1)
            ) { Echo(text: "digest") }
            try await queue.schedule("b", .every(.seconds(90))) { Echo(text: "b") }
            let other = try queue.queue("other")
            try await other.schedule("digest", .every(.seconds(90))) { Echo(text: "other") }
            let listed = try await queue.schedules()
            #expect(listed.map(\.name) == ["b", "digest"])
            #expect(listed[1] == daily)
            #expect(daily.times == "0 3 * * 1-5 in Europe/Berlin")
            #expect(daily.revision == 3)
            #expect(daily.job == "echo")
            #expect(daily.lastAt == nil && daily.lastJob == nil && daily.pausedAt == nil)
            let now = Date(milliseconds: try await queue.store.now())
            let next = try JobSchedule.cron("0 3 * * 1-5", in: "Europe/Berlin").next(after: now)
            #expect(daily.nextAt == next)
            #expect(try await queue.unschedule("b"))
            #expect(try await !queue.unschedule("b"))
            #expect(try await queue.schedules().map(\.name) == ["digest"])
            #expect(try await other.schedules().map(\.name) == ["digest"])
            #expect(try await unfinished(queue).isEmpty)
        }
    }

    /// Workers of two programs enqueue a job for each second, and for no second two.
    @Test(arguments: StoreKind.allCases)
    func workersOfTwoProgramsFireEachTimeOnce(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let queues = [
                try await JobQueue("tests", in: storage), try await JobQueue("tests", in: storage),
            ]
            let board = Board.newName()
            for queue in queues {
                try await queue.schedule(
                    "tick", .every(.seconds(1)), missed: .all(upTo: 100), overlap: .allow
                ) { Note(board: board, line: "tick") }
            }
            let first = try #require(try await queues[0].schedules().first?.nextAt)
            try await withWorker(queues[0], [Note.self]) { _ async throws in
                try await withWorker(queues[1], [Note.self]) { _ async throws in
                    while Board.read(board).count < 4 { await Task.yield() }
                }
            }
            let info = try #require(try await queues[0].schedules().first)
            let last = try #require(info.lastAt)
            let seconds = Int((last.timeIntervalSince(first)).rounded()) + 1
            #expect(try await queues[0].rowCount("durable_job") == seconds)
            #expect(info.nextAt == last.addingTimeInterval(1))
            for queue in queues { await queue.close() }
        }
    }

    /// Many transactions at the same time.
    @Test(arguments: StoreKind.allCases)
    func concurrentTransactionsFireEachTimeOnce(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            var queues: [JobQueue] = []
            for _ in 0..<3 { queues.append(try await JobQueue("tests", in: storage)) }
            for number in 0..<20 {
                try await queues[0].schedule("s\(number)", .cron("* * * * *", in: "GMT")) {
                    Echo(text: "s\(number)")
                }
            }
            try await queues[0].change("UPDATE durable_job_schedule SET next_at = 60000")
            let fired = try await withThrowingTaskGroup(of: [FiredSchedules].self) { group in
                for queue in queues + queues {
                    group.addTask {
                        var all: [FiredSchedules] = []
                        for _ in 0..<10 {
                            all.append(try await queue.store.fireSchedules(in: queue.name))
                        }
                        return all
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let names = fired.flatMap { $0.jobs.map(\.schedule) }
            #expect(names.sorted() == (0..<20).map { "s\($0)" }.sorted())
            #expect(try await queues[0].rowCount("durable_job") == 20)
            for queue in queues { await queue.close() }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func firedJobHasTheSettings(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.schedule(
                "s", .every(.seconds(60)), .retry(7, backoff: .constant(.seconds(5))),
                .timeout(.seconds(9)), .deadline(in: .seconds(100)), .exclusive(by: "key")
            ) { Settled() }
            // Other programs write the same arguments in another order.
            for _ in 0..<5 {
                try await queue.schedule(
                    "s", .every(.seconds(60)), .retry(7, backoff: .constant(.seconds(5))),
                    .timeout(.seconds(9)), .deadline(in: .seconds(100)), .exclusive(by: "key")
                ) { Settled() }
            }
            let now = try await queue.store.now()
            try await set(queue, "next_at", of: "s", to: now / 60_000 * 60_000)
            let fired = try #require(try await fire(queue).jobs.first)
            #expect(fired.time == now / 60_000 * 60_000)
            let info = try #require(try await queue.schedules().first)
            #expect(info.lastJob == fired.job)
            #expect(info.lastAt == Date(milliseconds: fired.time))
            let ghost = try await Ghost(queue, performing: ["settled"])
            let claimed = try #require(try await ghost.claim().first)
            #expect(claimed.token.job == fired.job)
            #expect(claimed.retryLimit == 7)
            #expect(BackoffText.wait(claimed.backoff, beforeRetry: 1) == .seconds(5))
            #expect(claimed.timeout == .seconds(9))
            #expect(claimed.isExclusive)
            #expect(claimed.place.rank == 4)
            let deadline = try #require(claimed.deadline)
            #expect((100_000..<130_000).contains(deadline - now))
            #expect(try await queue.info(fired.job)?.job(as: Settled.self)?.more["m"] == 3)
        }
    }

    // MARK: Missed times

    @Test(arguments: StoreKind.allCases)
    func ofMissedTimesTheLastIsFired(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let now = try await lateSchedule(queue, late: 1_000_000, missed: .once)
            let fired = try await fire(queue).jobs
            #expect(fired.count == 1)
            let time = try #require(fired.first?.time)
            #expect(time == now || time == now + Self.minute)
            #expect(try await fire(queue).jobs.isEmpty)
            #expect(
                try await queue.schedules().first?.nextAt
                    == Date(milliseconds: time + Self.minute))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func allMissedTimesAreFiredUpToALimit(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            var now = try await lateSchedule(queue, late: 1_000_000, missed: .all(upTo: 5))
            var times = try await fire(queue).jobs.map(\.time)
            if times.last != now { now += Self.minute }
            #expect(times == (0..<5).map { now + ($0 - 4) * Self.minute })
            try await set(queue, "next_at", of: "late", to: now - 2 * Self.minute)
            times = try await fire(queue).jobs.map(\.time)
            #expect(times.first == now - 2 * Self.minute)
            // The jobs of times that come again are joined.
            #expect(try await queue.rowCount("durable_job") == 5 + times.count { $0 > now })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func missedTimesMayBeDropped(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            // A time within a minute is none that was missed.
            try await queue.schedule("rare", .every(.seconds(86_400)), missed: .none) {
                Echo(text: "rare")
            }
            let period: Int64 = 86_400_000
            let last = try await queue.store.now() / period * period
            let isNew = try await queue.store.now() - last < 60_000
            try await set(queue, "next_at", of: "rare", to: last)
            #expect(try await fire(queue).jobs.isEmpty || isNew)
            let next = try await queue.schedules().first?.nextAt
            #expect(next == Date(milliseconds: last + period))

            _ = try await lateSchedule(queue, late: 3, missed: .none)
            #expect(try await fire(queue).jobs.count == 1)
        }
    }

    // MARK: Overlap

    @Test(arguments: StoreKind.allCases)
    func timeIsSkippedWhileTheLastJobHasNotEnded(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let now = try await lateSchedule(queue, late: 0, missed: .once, overlap: .skip)
            #expect(try await fire(queue).jobs.count == 1)
            for state in ["available", "running"] {
                try await set(queue, "next_at", of: "late", to: now)
                let fired = try await fire(queue)
                #expect(fired.jobs.isEmpty && fired.changed == 1, "\(state)")
                if state == "available" { _ = try await Ghost(queue).claim() }
            }
            try await queue.change("UPDATE durable_job SET state = 12")
            try await set(queue, "next_at", of: "late", to: now)
            #expect(try await fire(queue).jobs.count == 1)
            #expect(try await queue.rowCount("durable_job") == 2)
        }
    }

    // MARK: Revisions

    @Test(arguments: StoreKind.allCases)
    func lowerRevisionChangesNothing(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let daily = try JobSchedule.daily(at: "03:00", in: "GMT")
            let first = try await queue.schedule("s", revision: 2, daily) { Echo(text: "2") }
            let lower = try await queue.schedule("s", revision: 1, .every(.seconds(60))) {
                Note(board: "", line: "1")
            }
            #expect(lower == first)
            #expect(try await queue.schedules() == [first])

            // The same times keep a time that has come.
            try await set(queue, "next_at", of: "s", to: 10_800_000)
            let third = try await queue.schedule("s", revision: 3, daily) { Echo(text: "3") }
            #expect(third.nextAt == Date(milliseconds: 10_800_000))
            #expect(third.revision == 3)
            #expect(try await fire(queue).jobs.count == 1)
            #expect(try await unfinished(queue) == ["3"])

            let hourly = try JobSchedule.cron("@hourly", in: "GMT")
            try await set(queue, "next_at", of: "s", to: 10_800_000)
            let fourth = try await queue.schedule("s", revision: 4, hourly) {
                Note(board: "", line: "4")
            }
            #expect(fourth.job == "note")
            let now = Date(milliseconds: try await queue.store.now())
            let next = try #require(fourth.nextAt)
            #expect(next > now.addingTimeInterval(-5) && next <= now.addingTimeInterval(3600))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func sameRevisionWithSomethingElseIsAnError(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let daily = try JobSchedule.daily(at: "03:00", in: "Europe/Berlin")
            try await queue.schedule("s", daily) { Echo(text: "a") }
            let other = try JobSchedule.daily(at: "03:00", in: "Europe/Paris")
            for (part, call) in [
                (
                    "the job 'note' in place of 'echo'",
                    { try await queue.schedule("s", daily) { Note(board: "", line: "") } }
                ),
                (
                    "0 3 * * * in Europe/Paris",
                    { try await queue.schedule("s", other) { Echo(text: "a") } }
                ),
                (
                    "every",
                    { try await queue.schedule("s", .every(.seconds(9))) { Echo(text: "a") } }
                ),
                ("other arguments", { try await queue.schedule("s", daily) { Echo(text: "b") } }),
                (
                    "other traits",
                    { try await queue.schedule("s", daily, .retry(1)) { Echo(text: "a") } }
                ),
                (
                    "missed: .none",
                    { try await queue.schedule("s", daily, missed: .none) { Echo(text: "a") } }
                ),
                (
                    "overlap: .allow",
                    { try await queue.schedule("s", daily, overlap: .allow) { Echo(text: "a") } }
                ),
            ] as [(String, () async throws -> JobScheduleInfo)] {
                let error = await #expect(throws: JobError.self) { _ = try await call() }
                let text = try #require(error).description
                #expect(text.contains("'s'") && text.contains(part), "\(text)")
                #expect(text.contains("a higher revision"))
            }
            #expect(try await queue.schedules().map(\.times) == ["0 3 * * * in Europe/Berlin"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func schedulesThatMakeNoSenseAreErrors(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let daily = try JobSchedule.daily(at: "03:00", in: "GMT")
            func job() -> Echo { Echo(text: "") }
            for (part, call) in [
                ("is no name", { try await queue.schedule("", daily, job: job) }),
                ("is no name", { try await queue.schedule("a\0b", daily, job: job) }),
                (
                    "is no name",
                    {
                        try await queue.schedule(
                            String(repeating: "a", count: 201), daily, job: job)
                    }
                ),
                (
                    "use 1 to 1000",
                    {
                        try await queue.schedule(
                            "s", daily, missed: .all(upTo: 0), overlap: .allow, job: job)
                    }
                ),
                (
                    "write overlap: .allow",
                    { try await queue.schedule("s", daily, missed: .all(upTo: 5), job: job) }
                ),
                (
                    "leave it out",
                    { try await queue.schedule("s", daily, .unique(by: 1), job: job) }
                ),
                ("use .delay", { try await queue.schedule("s", daily, .at(Date()), job: job) }),
                (
                    "use .deadline(in:)",
                    { try await queue.schedule("s", daily, .deadline(Date()), job: job) }
                ),
                (
                    "are stored",
                    {
                        try await queue.schedule("s", daily) {
                            Echo(text: String(repeating: "a", count: 1 << 20))
                        }
                    }
                ),
            ] as [(String, () async throws -> JobScheduleInfo)] {
                let error = await #expect(throws: JobError.self) { _ = try await call() }
                #expect(try #require(error).description.contains(part), "\(part)")
            }
            #expect(try await queue.schedules().isEmpty)
            for call in [
                { try await queue.pauseSchedule("x") }, { try await queue.resumeSchedule("x") },
                { _ = try await queue.runNow("x") },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: JobError.self) { try await call() }
                #expect(error == .unknownSchedule("x", queue: "tests"))
            }
        }
    }

    // MARK: Control

    @Test(arguments: StoreKind.allCases)
    func pausedScheduleFiresNothing(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            _ = try await lateSchedule(queue, late: 5, missed: .once)
            try await queue.pauseSchedule("late")
            try await queue.pauseSchedule("late")
            let paused = try #require(try await queue.schedules().first)
            #expect(paused.pausedAt != nil && paused.nextAt == nil)
            #expect(try await fire(queue).jobs.isEmpty)
            #expect(try await !queue.store.dueUpkeep(in: "tests").firesSchedules)
            // A new revision stays paused, and a job can be run.
            let changed = try await queue.schedule("late", revision: 2, .every(.seconds(60))) {
                Echo(text: "new")
            }
            #expect(changed.pausedAt != nil && changed.nextAt == nil)
            let id = try await queue.runNow("late")
            #expect(try await unfinished(queue) == ["new"])
            #expect(try await queue.runNow("late") == id)
            #expect(try await queue.schedules().first?.lastJob == id)
            #expect(try await queue.schedules().first?.lastAt == nil)
            try await Ghost(queue).complete(1)
            #expect(try await queue.runNow("late") != id)
            try await queue.resumeSchedule("late")
            try await queue.resumeSchedule("late")
            let resumed = try #require(try await queue.schedules().first)
            let now = Date(milliseconds: try await queue.store.now())
            #expect(resumed.pausedAt == nil)
            #expect(try #require(resumed.nextAt) > now.addingTimeInterval(-5))
        }
    }

    // MARK: Clocks and zones

    @Test(arguments: StoreKind.allCases)
    func clockThatIsSetBackForLongComputesTheTimesAgain(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.schedule("s", .every(.seconds(86_400))) { Echo(text: "") }
            let now = try await queue.store.now()
            let hour: Int64 = 3_600_000
            // The clock was ahead by half an hour: the schedule waits.
            try await set(queue, "next_at", of: "s", to: now + hour / 2)
            try await set(queue, "computed_at", of: "s", to: now + hour / 2)
            #expect(try await !queue.store.dueUpkeep(in: "tests").firesSchedules)
            #expect(try await fire(queue).changed == 0)
            // It was ahead by years.
            try await set(queue, "next_at", of: "s", to: now + 20_000 * hour)
            try await set(queue, "computed_at", of: "s", to: now + 20_000 * hour)
            #expect(try await queue.store.dueUpkeep(in: "tests").firesSchedules)
            let fired = try await fire(queue)
            #expect(fired.jobs.isEmpty && fired.changed == 1)
            let next = try #require(try await queue.schedules().first?.nextAt)
            let distance = next.timeIntervalSince(Date(milliseconds: now))
            #expect((0...86_400).contains(distance))
            #expect(try await !queue.store.dueUpkeep(in: "tests").firesSchedules)
        }
    }

    /// The clock of the store in memory is the test's own.
    @Test func clockIsSetForwardAndBack() async throws {
        let start: Int64 = 1_750_000_000_000 / 3_600_000 * 3_600_000
        let clock = Locked(start)
        let time = SQLiteTime(
            wall: { clock.withLock { $0 } }, sinceBoot: { 0 }, boot: "test")
        let database = try await SQLiteDatabase(inMemoryWith: time)
        let queue = JobQueue("tests", JobStore(database))
        try await queue.schedule(
            "hourly", .cron("0 * * * *", in: "GMT"), missed: .all(upTo: 100), overlap: .allow
        ) { Echo(text: "") }
        let minutes = { (count: Int64) in count * 60_000 }
        func times(at offset: Int64) async throws -> [Int64] {
            clock.withLock { $0 = start + offset }
            return try await fire(queue).jobs.map { ($0.time - start) / minutes(1) }
        }
        #expect(try await times(at: minutes(59)) == [])
        #expect(try await times(at: minutes(60)) == [60])
        #expect(try await times(at: minutes(61)) == [])
        // Set back by less than an hour: no time is fired twice.
        #expect(try await times(at: minutes(30)) == [])
        #expect(try await times(at: minutes(60)) == [])
        #expect(try await times(at: minutes(120)) == [120])
        // Set forward: the times are missed ones.
        #expect(try await times(at: minutes(300)) == [180, 240, 300])
        // Set back by more: the times come again. The first is computed from the new time.
        try await queue.change("UPDATE durable_job SET state = 10")
        #expect(try await times(at: minutes(130)) == [])
        #expect(try await times(at: minutes(180)) == [180])
        await queue.close()
    }

    /// The process that computes a time decides it.
    @Test(arguments: StoreKind.allCases)
    func processesWithOtherDataAboutZonesTakeTurns(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.schedule("s", .cron("0 12 * * *", in: "Europe/Berlin")) {
                Echo(text: "")
            }
            let day: Int64 = 86_400_000
            for (hours, expected) in [(5, 7), (9, 3), (5, 7)] as [(Int64, Int64)] {
                try await queue.change("UPDATE durable_job SET state = 10")
                let now = try await queue.store.now()
                try await set(queue, "next_at", of: "s", to: now - 1)
                let fired = try await queue.store.fireSchedules(in: "tests") { zone in
                    #expect(zone == "Europe/Berlin")
                    return ZoneOffsets(zone) { _ in hours * 3600 }
                }
                #expect(fired.jobs.count == 1)
                let next = try #require(try await queue.schedules().first?.nextAt)
                let milliseconds = Int64(next.timeIntervalSince1970) * 1000
                #expect(milliseconds % day == expected * 3_600_000)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func processThatDoesNotKnowTheZoneLeavesTheScheduleToOthers(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.schedule("good", .every(.seconds(86_400))) { Echo(text: "good") }
            try await queue.schedule("mars", .every(.seconds(60))) { Echo(text: "mars") }
            try await queue.change(
                """
                UPDATE durable_job_schedule SET spec = 'cron 0 12 * * *', zone = 'Mars/Olympus',
                    next_at = 60000 WHERE name = 'mars'
                """)
            try await set(queue, "next_at", of: "good", to: 60_000)
            let fired = try await fire(queue)
            #expect(fired.jobs.map(\.schedule) == ["good"])
            #expect(fired.unreadable.count == 1)
            #expect(fired.unreadable.first?.name == "mars")
            #expect(fired.unreadable.first?.reason.contains("Mars/Olympus") == true)
            // A worker says so, once a minute, and goes on.
            let reports = Locked<[String]>([])
            let isReported = Signal()
            var options = testOptions
            options.observer = { event in
                guard case .unreadableSchedule(let name, let reason) = event else { return }
                reports.withLock { $0.append("\(name): \(reason)") }
                isReported.send()
            }
            let handle = try await queue.enqueue(Echo(text: "next"))
            try await withWorker(queue, [Echo.self], options: options) { _ async throws in
                #expect(await isReported.arrives())
                #expect(try await handle.value == "next")
            }
            #expect(reports.withLock { $0.count } == 1)
            #expect(try await queue.schedules().first { $0.name == "mars" }?.lastAt == nil)
            let later = try await queue.store.fireSchedules(in: "tests") {
                ZoneOffsets($0) { _ in 0 }
            }
            #expect(later.jobs.map(\.schedule) == ["mars"])
            let error = await #expect(throws: JobError.self) {
                try await queue.pauseSchedule("mars")
                try await queue.resumeSchedule("mars")
            }
            #expect(error?.description.contains("Mars/Olympus") == true)
        }
    }

    // MARK: Workers

    /// The worker waits for the time no longer than it takes to come.
    @Test(arguments: StoreKind.allCases)
    func stepsSayHowLongItIsUntilTheNextTime(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let steps = JobUpkeep(queue: queue)
            #expect(try await steps.performDueSteps().nextStep == nil)
            try await queue.schedule("s", .every(.seconds(86_400))) { Echo(text: "") }
            let before = try await queue.store.now()
            let next = before + 3_000_000
            try await set(queue, "next_at", of: "s", to: next)
            let rest = try #require(try await steps.performDueSteps().nextStep)
            #expect(rest <= .milliseconds(next - before) && rest > .seconds(2_000))
            try await set(queue, "next_at", of: "s", to: before)
            // The next time is not known before the next question.
            let changes = try await steps.performDueSteps()
            #expect(changes.nextStep == .zero && changes.addsJobs)
            let later = try #require(try await steps.performDueSteps().nextStep)
            #expect(later > .zero && later <= .seconds(86_400))
            try await queue.pauseSchedule("s")
            #expect(try await steps.performDueSteps().nextStep == nil)
        }
    }

    @Test func testerFiresSchedules() async throws {
        let scheduler = TestScheduler(seed: 1)
        let tester = try await JobTester(clock: scheduler.clock, performing: [Echo.self])
        try await tester.queue.schedule("daily", .daily(at: "03:00", in: "GMT")) {
            Echo(text: "daily")
        }
        #expect(try await tester.runDueJobs().isEmpty)
        try scheduler.advance(by: .seconds(3 * 3600 - 1))
        #expect(try await tester.runDueJobs().isEmpty)
        try scheduler.advance(by: .seconds(1))
        #expect(try await tester.runDueJobs().count == 1)
        try scheduler.advance(by: .seconds(10 * 86_400))
        #expect(try await tester.runDueJobs().count == 1)
        #expect(try await tester.runDueJobs().isEmpty)
    }

    /// Every worker asks for the next time once a second.
    @Test(arguments: StoreKind.allCases)
    func nextTimeIsFoundByAnIndex(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.schedule("s", .every(.seconds(60))) { Echo(text: "") }
            let plan = try await queue.store.database.transaction(.relaxed) { session in
                let explain = kind == .file ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
                return try session.query(
                    "\(explain) SELECT \(JobStore.timeToNextSchedule)", [.text("tests")]
                ).flatMap(\.values).map { "\($0)" }
            }
            #expect(plan.contains { $0.contains("durable_job_schedule_next") }, "\(plan)")
        }
    }
}
#endif
