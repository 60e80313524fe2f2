#if DurableJobsDashboard
import DurableJobs

/// What the first page shows of a store; the reason if the store does not answer.
struct StoreReading: Sendable {
    struct Queue: Sendable {
        let info: JobQueueInfo
        let pauses: [JobPause]
    }

    let title: String
    let queues: Result<[Queue], any Error>

    private init(_ title: String, _ jobs: JobQueue) async {
        self.title = title
        do {
            var queues: [Queue] = []
            for info in try await jobs.queues() {
                let pauses = try await jobs.queue(info.name).pauses()
                queues.append(Queue(info: info, pauses: pauses))
            }
            self.queues = .success(queues)
        } catch {
            queues = .failure(error)
        }
    }

    /// Asks all stores at a time, because one of them may be slow.
    static func all(_ stores: [(title: String, jobs: JobQueue)]) async -> [StoreReading] {
        await withTaskGroup { group in
            for (index, store) in stores.enumerated() {
                group.addTask { (index, await StoreReading(store.title, store.jobs)) }
            }
            var all: [(Int, StoreReading)] = []
            for await reading in group { all.append(reading) }
            return all.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}

/// What the page of a queue shows.
struct QueueReading: Sendable {
    let jobs: JobPage
    /// Nil for a queue without jobs, workers and schedules.
    let info: JobQueueInfo?
    let pauses: [JobPause]
    let workers: [JobWorkerInfo]
    let schedules: [JobScheduleInfo]

    init(_ queue: JobQueue, _ filter: DashboardFilter) async throws {
        jobs = try await queue.list(
            states: filter.state.map { [$0] } ?? [], name: filter.name, error: filter.error,
            order: filter.isOldestFirst ? .oldestFirst : .newestFirst, after: filter.after,
            limit: DashboardFilter.pageSize)
        info = try await queue.queues().first { $0.name == queue.name }
        pauses = try await queue.pauses()
        workers = try await queue.workers()
        schedules = try await queue.schedules()
    }
}

/// What a list of jobs shows, from the query of its address.
struct DashboardFilter {
    static let pageSize = 50

    var state: JobState?
    var name: String?
    /// A part of the error.
    var error: String?
    var isOldestFirst = false
    /// The job after which the list begins.
    var after: JobID?

    init(_ query: [String: String]) {
        func value(_ name: String) -> String? {
            query[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        state = JobState.allCases.first { $0.description == query["state"] }
        name = value("name")
        error = value("error")
        isOldestFirst = query["order"] == "oldest"
        after = query["after"].flatMap { Int64($0) }.map { JobID($0) }
    }

    /// The first page of the list with another state.
    func with(state: JobState?) -> DashboardFilter {
        var filter = with(after: nil)
        filter.state = state
        return filter
    }

    func with(after id: JobID?) -> DashboardFilter {
        var filter = self
        filter.after = id
        return filter
    }

    var query: String {
        let values = [
            state.map { "state=\($0)" }, name.map { "name=\($0.inAddress)" },
            error.map { "error=\($0.inAddress)" }, isOldestFirst ? "order=oldest" : nil,
            after.map { "after=\($0)" },
        ].compactMap(\.self)
        return values.isEmpty ? "" : "?" + values.joined(separator: "&")
    }
}
#endif
