#if DurableJobs
import Operations
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension JobQueue {
    /// The number of jobs in one transaction of a method that stores many.
    static let chunk = 1000

    /// Stores a job, to be run by a worker.
    ///
    /// When this method returns, the job is on the disk.
    ///
    /// - Parameters:
    ///   - job: the work and its arguments.
    ///   - traits: further settings of the job.
    ///   - dependencies: jobs of the same store that must end before. A handle demands success; see
    ///     ``JobHandle/on(_:)`` for other conditions. If a condition is not met, the job is
    ///     cancelled with that as the reason.
    /// - Returns: a handle of the job, or of the unfinished job with the same unique key.
    /// - Throws: ``JobError`` if the arguments are too large, a trait makes no sense, or the store
    ///   does not know a dependency.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, _ traits: JobTrait..., after dependencies: any JobReference...
    ) async throws -> JobHandle<J.Output> {
        try await enqueue(job, traits, after: dependencies)
    }

    /// Stores a job that depends on any number of jobs.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, _ traits: [JobTrait] = [], after dependencies: [any JobReference]
    ) async throws -> JobHandle<J.Output> {
        let ids = try await store([
            try newJob(job, JobOptions(traits, of: J.self), after: dependencies)
        ])
        return JobHandle(ids[0], in: self)
    }

    /// Stores jobs with the same traits, a thousand in each transaction, and returns their handles
    /// in the same order.
    ///
    /// If a transaction fails, the jobs of earlier ones stay. For jobs that must be stored
    /// together, use `enqueue(_:)` with a ``JobGraph``.
    @discardableResult
    public func enqueue<J: Job>(
        _ jobs: [J], _ traits: JobTrait..., after dependencies: any JobReference...
    ) async throws -> [JobHandle<J.Output>] {
        let options = try JobOptions(traits, of: J.self)
        var places = BatchPlaces()
        var handles: [JobHandle<J.Output>] = []
        for part in jobs.parts(of: Self.chunk) {
            let new = try part.map { try newJob($0, options, after: dependencies) }
            let ids: [JobID]
            (ids, places) = try await store.enqueue(new, in: name, at: places)
            handles += ids.map { JobHandle($0, in: self) }
            signals.jobsAdded()
        }
        return handles
    }

    /// Stores jobs, a thousand in each transaction, with traits that differ from job to job.
    ///
    /// - Parameters:
    ///   - jobs: the jobs to store.
    ///   - traits: returns the settings of a job, such as its unique key.
    /// - Returns: the handles, in the order of the jobs.
    @discardableResult
    nonisolated(nonsending) public func enqueue<J: Job>(
        _ jobs: [J], traits: (J) throws -> [JobTrait]
    ) async throws -> [JobHandle<J.Output>] {
        var places = BatchPlaces()
        var handles: [JobHandle<J.Output>] = []
        for part in jobs.parts(of: Self.chunk) {
            let new = try part.map { try newJob($0, JobOptions(traits($0), of: J.self)) }
            let ids: [JobID]
            (ids, places) = try await store.enqueue(new, in: name, at: places)
            handles += ids.map { JobHandle($0, in: self) }
            signals.jobsAdded()
        }
        return handles
    }

    /// Stores a job in a transaction of the caller's own on the queue's database, so that the job
    /// exists if and only if the transaction is committed.
    ///
    /// ```swift
    /// try await database.write { db in
    ///     try order.insert(db)
    ///     try jobs.enqueue(SendReceipt(order: order.id), in: .sqlite(db.sqliteConnection))
    /// }
    /// ```
    ///
    /// Workers see the job soon after the commit, or at their next look, after at most a second.
    ///
    /// - Parameters:
    ///   - job: the work and its arguments.
    ///   - traits: further settings of the job.
    ///   - dependencies: jobs that must end before.
    ///   - transaction: the connection that has begun it.
    /// - Throws: ``JobError``, also if the transaction is not one on the queue's database.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, _ traits: JobTrait..., after dependencies: any JobReference...,
        in transaction: JobTransaction
    ) throws -> JobHandle<J.Output> {
        try enqueue(job, traits, after: dependencies, in: transaction)
    }

    /// Stores a job that depends on any number of jobs, in a transaction of the caller's own.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, _ traits: [JobTrait] = [], after dependencies: [any JobReference],
        in transaction: JobTransaction
    ) throws -> JobHandle<J.Output> {
        let new = try newJob(job, JobOptions(traits, of: J.self), after: dependencies)
        let id = try transaction.perform(store.database, name) { try enqueue(new, $0) }
        return JobHandle(id, in: self)
    }

    /// Stores a job in a transaction of the program on the store's database.
    package func enqueue(_ job: NewJob, _ session: any SQLSession) throws -> JobID {
        var places = BatchPlaces()
        return try Enqueueing.enqueue(
            [job], in: name, at: &places, mayStayOpen: true, extension: store.extension,
            session)[0]
    }

    package func newJob<J: Job>(
        _ job: J, _ options: JobOptions, after dependencies: [any JobReference] = []
    ) throws -> NewJob {
        try JobCoding.check(name: J.name)
        return NewJob(
            name: J.name, version: J.version, arguments: try JobCoding.arguments(of: job),
            options: options,
            dependencies: dependencies.map { (.stored($0.id), $0.condition) },
            trace: observer.withLock { $0 }?.traceOfNewJob())
    }

    private func store(_ jobs: [NewJob]) async throws -> [JobID] {
        let ids = try await store.enqueue(jobs, in: name).ids
        signals.jobsAdded()
        return ids
    }

    // MARK: Graphs

    /// Stores all jobs of a graph in one transaction.
    ///
    /// - Returns: the handles of the jobs, by the nodes of the graph.
    /// - Throws: ``JobError/dependencyCycle(_:)`` if jobs of the graph wait for each other; nothing
    ///   is stored then.
    @discardableResult
    public func enqueue(_ graph: JobGraph) async throws -> JobGraph.Handles {
        let order = try graph.topologicalOrder()
        var places: [Int: Int] = [:]
        for (place, node) in order.enumerated() { places[node] = place }
        let jobs = try order.map { node in
            var job = try graph.nodes[node].make(self)
            job.dependencies += graph.nodes[node].edges.map { edge in
                (.new(places[edge.node] ?? 0), edge.condition)
            }
            return job
        }
        let ids = try await store(jobs)
        return JobGraph.Handles(
            ids: graph.nodes.indices.map { ids[places[$0] ?? 0] }, queue: self)
    }

    // MARK: Many jobs with back-pressure

    /// Stores a job for each element of a sequence, a thousand in each transaction, and waits while
    /// too many of them are unfinished.
    ///
    /// Neither the memory of this process nor the store grows with the length of the sequence.
    ///
    /// - Parameters:
    ///   - elements: any sequence, read once.
    ///   - capacity: how many jobs of the batch may be unfinished.
    ///   - title: a name of a new batch for people.
    ///   - batch: a batch of this queue to add the jobs to; nil for a new one.
    ///   - traits: further settings of all jobs.
    ///   - job: returns the job for an element.
    ///   - ownTraits: returns the settings of one job, such as its unique key.
    /// - Returns: the batch of the jobs, all of which are stored. Jobs that join an unfinished job
    ///   because of a unique key are not part of it.
    @discardableResult
    nonisolated(nonsending) public func enqueue<S: Sequence, J: Job>(
        each elements: S, capacity: Int = 50_000, named title: String = "",
        into batch: JobBatch? = nil,
        _ traits: JobTrait..., job: (S.Element) throws -> J,
        traits ownTraits: (J) throws -> [JobTrait] = { _ in [] }
    ) async throws -> JobBatch {
        let writer = try await BatchWriter<J>(self, title, into: batch, limit: capacity, traits)
        for element in elements {
            let new = try job(element)
            try await writer.add(new, ownTraits(new))
        }
        return try await writer.end()
    }

    /// Stores a job for each element of an asynchronous sequence, as
    /// the method for other sequences does.
    @discardableResult
    nonisolated(nonsending) public func enqueue<S: AsyncSequence, J: Job>(
        each elements: S, capacity: Int = 50_000, named title: String = "",
        into batch: JobBatch? = nil,
        _ traits: JobTrait...,
        job: nonisolated(nonsending) (S.Element) async throws -> J,
        traits ownTraits: (J) throws -> [JobTrait] = { _ in [] }
    ) async throws -> JobBatch {
        let writer = try await BatchWriter<J>(self, title, into: batch, limit: capacity, traits)
        for try await element in elements {
            let new = try await job(element)
            try await writer.add(new, ownTraits(new))
        }
        return try await writer.end()
    }
}
#endif
