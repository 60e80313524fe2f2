import ArgumentParser
import DurableJobs
import PhotoJobs

// The subcommands of `jobs` that change jobs.

extension Jobs {
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes discarded and cancelled jobs available again.",
            discussion: """
                Discarded jobs can be retried for thirty days, unless "prune" has deleted them.
                """)

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
                var report = ChangeReport(isJSON: options.printsJSON)
                try await jobs.forEachPart(ids, or: [.discarded]) { part in
                    let retried = try await jobs.retryAll(part)
                    for id in part {
                        if retried.contains(id) {
                            report.change(id, "available", "is available again")
                        } else if !failed {
                            report.refuse(try await reason(toRefuse: id, jobs, address))
                        }
                        // With --failed, a later run of "process" has tried this photo again.
                    }
                }
                try report.end(emptyText: "There are no discarded jobs in \(address).")
            }
        }

        private func reason(
            toRefuse id: JobID, _ jobs: JobQueue, _ address: PhotoQueueAddress
        ) async throws -> String {
            guard let job = try await jobs.info(id) else {
                return "there is no job \(id) in \(address)"
            }
            let reason =
                switch job.state {
                case .discarded, .cancelled:
                    try await jobs.isListed(id)
                        ? "another job processes the same photo" : "it ended too long ago"
                default: "it is \(job.state)"
                }
            return "job \(id) cannot be tried again: \(reason)"
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
                var report = ChangeReport(isJSON: options.printsJSON)
                var ids: [JobID] = []
                for id in self.ids {
                    if let reason = try await reason(toRefuse: id, jobs, address) {
                        report.refuse(reason)
                    } else {
                        ids.append(id)
                    }
                }
                if !all, ids.isEmpty { return try report.end(emptyText: "") }
                try await jobs.forEachPart(ids, or: unfinished) { part in
                    let states = try await jobs.cancelAll(part, because: "a person cancelled it")
                    for id in part {
                        switch states[id] {
                        case .running: report.change(id, "running", "is asked to stop")
                        case .cancelled: report.change(id, "cancelled", "is cancelled")
                        // The job has ended meanwhile.
                        default: continue
                        }
                    }
                }
                try report.end(emptyText: "There are no unfinished jobs in \(address).")
            }
        }

        /// Nil for a job that can be cancelled.
        private func reason(
            toRefuse id: JobID, _ jobs: JobQueue, _ address: PhotoQueueAddress
        ) async throws -> String? {
            guard let state = try await jobs.info(id)?.state else {
                return "there is no job \(id) in \(address)"
            }
            return state.isEnded ? "job \(id) has ended: it is \(state)" : nil
        }
    }

    struct Prune: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes jobs that have ended.",
            discussion: """
                The results of the jobs stay in their folders, and later runs of "process" still \
                know them. Discarded jobs, and those that were cancelled because of them, stay \
                longer, so that they can be retried. Workers delete jobs, too, a month after their \
                end.
                """)

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Option(help: "Keep the jobs that ended within this number of days.")
        var days = 1.0

        @Option(help: "Keep the discarded jobs that ended within this number of days.")
        var discardedDays = 30.0

        func validate() throws {
            for (name, value) in [("--days", days), ("--discarded-days", discardedDays)] {
                guard (0...36_500).contains(value) else {
                    throw ValidationError("\(name) must be between 0 and 36500.")
                }
            }
        }

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                let count = try await jobs.prune(
                    endedFor: .seconds(days * 86_400),
                    discardedFor: .seconds(discardedDays * 86_400), archivingFor: nil)
                if options.printsJSON { return StandardOutput.writeLine("{\"deleted\":\(count)}") }
                let text = count == 1 ? "1 job" : "\(count) jobs"
                StandardOutput.writeLine("Deleted \(text) from \(address).")
            }
        }
    }
}

extension JobQueue {
    /// Whether a job is among those that can be listed, and not in the archive.
    fileprivate func isListed(_ id: JobID) async throws -> Bool {
        try await list(after: JobID(id.rawValue - 1), limit: 1).first?.id == id
    }

    /// Calls a function with the given jobs; if there are none, with all jobs in some states, in
    /// parts.
    fileprivate func forEachPart(
        _ ids: [JobID], or states: [JobState], _ body: ([JobID]) async throws -> Void
    ) async throws {
        guard ids.isEmpty else { return try await body(ids) }
        var last: JobID?
        repeat {
            let part = try await list(states: states, after: last, limit: 1000).map(\.id)
            try await body(part)
            last = part.count == 1000 ? part.last : nil
        } while last != nil
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
