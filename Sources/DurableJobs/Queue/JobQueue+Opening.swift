#if DurableJobs
import Operations
import OperationsRuntime

extension JobQueue {
    /// Opens a queue, and waits for a store that cannot be reached yet, such as a database that
    /// starts at the same time as the program.
    ///
    /// ```swift
    /// let jobs = try await JobQueue("photos", in: storage, waitingFor: .seconds(60)) {
    ///     logger.warning("\($0)")
    /// }
    /// ```
    ///
    /// The queue tries to open the store again and again, about once a second. A store that must be
    /// changed first, such as one of a newer version of the library, is not waited for.
    ///
    /// - Parameters:
    ///   - name: the queue's name in the store, 1 to 200 bytes.
    ///   - storage: the place of the store.
    ///   - patience: the time after which the error of the last try is thrown.
    ///   - report: receives a line of text when the wait begins, and one a minute while it lasts.
    /// - Throws: ``JobError`` if the store cannot be used, or not within the time;
    ///   `CancellationError` if the task is cancelled.
    public convenience init(
        _ name: String = "default", in storage: JobStorage, waitingFor patience: Duration,
        reporting report: (String) -> Void = { _ in }
    ) async throws {
        try JobCoding.check(name: name)
        let store = try await StartPatience.wait(upTo: patience, reporting: report) {
            try await storage.open()
        }
        self.init(name, store)
    }
}

/// Waits for a store that cannot be used yet.
enum StartPatience {
    /// The time between the lines about one wait.
    private static let reportPeriod = Duration.seconds(60)

    /// The pause before the next try, after a number of them.
    static func pause(after tries: Int) -> Duration {
        min(.seconds(1), .milliseconds(50) * (1 << min(tries, 5)))
    }

    /// Whether the same call may succeed later, without any change by a person.
    static func isWorthWaiting(for error: any Error) -> Bool {
        guard let error = error as? JobError, error != .closed else { return false }
        return error.effect == .postponement
    }

    static func wait<Result>(
        upTo patience: Duration, reporting report: (String) -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let start = Machine.timeSinceBoot
        let event = AutoResetEvent()
        var nextReport = start
        var tries = 0
        while true {
            do {
                return try await body()
            } catch let error where isWorthWaiting(for: error) {
                let now = Machine.timeSinceBoot
                let rest = start + patience - now
                guard rest > .zero else { throw error }
                if now >= nextReport {
                    nextReport = now + reportPeriod
                    report(line(about: error, rest))
                }
                // Neither a task of the program nor Swift's own pool delays the end of the wait.
                await withTaskCancellationHandler {
                    await event.wait(atMost: min(rest, pause(after: tries)))
                } onCancel: {
                    event.signal()
                }
                try Task.checkCancellation()
                tries += 1
            }
        }
    }

    /// An error for a log: without the commands that may follow it on lines of their own.
    private static func line(about error: any Error, _ rest: Duration) -> String {
        let text = "\(error)".split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let end = text.hasSuffix(".") ? "" : "."
        return "\(text)\(end) The program tries again, for up to \(rest.text)."
    }
}
#endif
