import ArgumentParser
import DurableJobs
import PhotoJobs

// The subcommands of `jobs` that change jobs.

extension Jobs {
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes discarded and cancelled jobs available again.")

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Flag(help: "Retry all discarded jobs.")
        var failed = false

        @Argument(help: "The numbers of the jobs.", transform: JobID.init(argument:))
        var ids: [JobID] = []

        func validate() throws {
            guard failed == ids.isEmpty else {
                throw ValidationError("Name the jobs to retry, or use --failed for all of them.")
            }
        }

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                let ids = failed ? try await jobs.all([.discarded]) : ids
                var report = ChangeReport(isJSON: options.printsJSON)
                for id in ids {
                    guard let job = try await jobs.info(id) else {
                        report.refuse("there is no job \(id) in \(address)")
                        continue
                    }
                    if try await jobs.retry(id) {
                        report.change(id, "available", "is available again")
                    } else {
                        // A later run of "process" has already tried this photo again.
                        if failed { continue }
                        let reason =
                            job.state == .discarded || job.state == .cancelled
                            ? "another job processes the same photo" : "it is \(job.state)"
                        report.refuse("job \(id) cannot be tried again: \(reason)")
                    }
                }
                try report.end(emptyText: "There are no discarded jobs in \(address).")
            }
        }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancels jobs that have not ended. Running ones are asked to stop.")

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Flag(help: "Cancel all jobs of the queue that have not ended.")
        var all = false

        @Argument(help: "The numbers of the jobs.", transform: JobID.init(argument:))
        var ids: [JobID] = []

        func validate() throws {
            guard all == ids.isEmpty else {
                throw ValidationError("Name the jobs to cancel, or use --all.")
            }
        }

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                let unfinished = JobState.allCases.filter { !$0.isEnded }
                let ids = all ? try await jobs.all(unfinished) : ids
                var report = ChangeReport(isJSON: options.printsJSON)
                for id in ids {
                    guard let job = try await jobs.info(id) else {
                        report.refuse("there is no job \(id) in \(address)")
                        continue
                    }
                    guard !job.state.isEnded else {
                        if !all { report.refuse("job \(id) has ended: it is \(job.state)") }
                        continue
                    }
                    switch try await jobs.cancel(id, because: "a person cancelled it") {
                    case .running: report.change(id, "running", "is asked to stop")
                    case .cancelled: report.change(id, "cancelled", "is cancelled")
                    case let state:
                        if !all { report.refuse("job \(id) has ended: it is \(state)") }
                    }
                }
                try report.end(emptyText: "There are no unfinished jobs in \(address).")
            }
        }
    }

    struct Prune: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes jobs that have ended.",
            discussion: """
                The results of the jobs stay in their folders, and later runs of "process" still \
                know them. Workers delete jobs, too, a month after their end.
                """)

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Option(help: "Keep the jobs that ended within this number of days.")
        var days = 1.0

        func validate() throws {
            guard (0...36_500).contains(days) else {
                throw ValidationError("--days must be between 0 and 36500.")
            }
        }

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                let age = Duration.seconds(days * 86_400)
                let count = try await jobs.prune(endedFor: age, archivingFor: nil)
                if options.printsJSON { return StandardOutput.writeLine("{\"deleted\":\(count)}") }
                let text = count == 1 ? "1 job" : "\(count) jobs"
                StandardOutput.writeLine("Deleted \(text) from \(address).")
            }
        }
    }
}

extension JobQueue {
    /// The numbers of all jobs in some states.
    fileprivate func all(_ states: [JobState]) async throws -> [JobID] {
        var ids: [JobID] = []
        while true {
            let part = try await list(states: states, after: ids.last, limit: 1000)
            ids += part.map(\.id)
            if part.count < 1000 { return ids }
        }
    }
}

/// Reports the changes of jobs, and ends the program with exit code 1 if some were refused.
private struct ChangeReport {
    let isJSON: Bool
    private var changed = 0
    private var refused = 0

    init(isJSON: Bool) { self.isJSON = isJSON }

    mutating func change(_ id: JobID, _ state: String, _ text: String) {
        changed += 1
        StandardOutput.writeLine(
            isJSON ? "{\"id\":\(id),\"state\":\"\(state)\"}" : "Job \(id) \(text).")
    }

    mutating func refuse(_ reason: String) {
        refused += 1
        Terminal.writeError(reason.prefix(1).uppercased() + reason.dropFirst() + ".\n")
    }

    func end(emptyText: String) throws {
        if changed == 0, refused == 0, !isJSON { StandardOutput.writeLine(emptyText) }
        if refused > 0 { throw ExitCode(ExitCodes.failure) }
    }
}
