import ArgumentParser
import DurableJobs
import PhotoJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Shows and changes the jobs of a queue.
struct Jobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists, explains, retries, cancels, pauses and deletes the photos of a queue.",
        discussion: """
            The states of a job are available, running, retryable (postponed, or to be tried \
            again), completed, cancelled and discarded (failed).

            \(ExitCodes.description)
            """,
        subcommands: [
            List.self, Show.self, Dashboard.self, Retry.self, Cancel.self, Pause.self, Resume.self,
            Prune.self, Migrate.self,
        ],
        defaultSubcommand: List.self)

    // No option group: the subcommands' group of the same type would get the value of this one.
    @Option(help: QueueOption.help, completion: .file())
    var queue: String?
}

/// The options of all subcommands.
struct JobsOptions: ParsableArguments {
    @OptionGroup var queueing: QueueOption

    @Flag(name: .customLong("json"), help: "Print JSON, one object in each line.")
    var printsJSON = false

    /// Opens the queue, runs a closure and closes the queue.
    ///
    /// - Parameter parent: the option before the name of the subcommand.
    func withQueue(
        _ parent: String?, _ body: (JobQueue, PhotoQueueAddress) async throws -> Void
    ) async throws {
        try await queueing.withQueue(parent, body)
    }
}

extension QueueOption {
    /// As ``JobsOptions/withQueue(_:_:)``.
    func withQueue(
        _ parent: String?, _ body: (JobQueue, PhotoQueueAddress) async throws -> Void
    ) async throws {
        let address = try requiredAddress(parent)
        try await stopping {
            let jobs = try await address.open(makingTables: false)
            do {
                try await body(jobs, address)
            } catch let error as JobError {
                await jobs.close()
                throw Stop("\(error).")
            } catch {
                await jobs.close()
                throw error
            }
            await jobs.close()
        }
    }
}

extension Jobs {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the jobs that are not completed.")

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Option(
            help: ArgumentHelp(
                "List the jobs in this state, also completed ones. This option can be repeated.",
                valueName: "state"))
        var state: [StateName] = []

        @Option(help: "The maximum number of jobs to list.")
        var limit = 100

        func validate() throws {
            guard (0...1_000_000).contains(limit) else {
                throw ValidationError("--limit must be between 0 and 1000000.")
            }
        }

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                let states =
                    state.isEmpty
                    ? JobState.allCases.filter { $0 != .completed } : state.compactMap(\.state)
                let list = try await jobs.list(states: states, limit: limit)
                let counts = try await jobs.counts()
                if options.printsJSON {
                    for job in list { StandardOutput.writeLine(JobLine(job).jsonLine) }
                    return StandardOutput.writeLine(JobLine(counts).jsonLine)
                }
                for job in list { StandardOutput.writeLine(Self.line(job)) }
                let hidden = states.reduce(0) { $0 + counts[$1, default: 0] } - list.count
                if hidden > 0 {
                    StandardOutput.writeLine("… and \(hidden) more; --limit lists more of them.")
                }
                StandardOutput.writeLine(Self.summary(counts, address))
            }
        }

        private static func line(_ job: JobInfo) -> String {
            let id = "\(job.id)"
            let state = "\(job.state)"
            var text = String(repeating: " ", count: max(0, 6 - id.count)) + id + "  "
            text += state + String(repeating: " ", count: max(0, 10 - state.count))
            text += "  " + ProgressReport.line(job.photo?.photo ?? job.name)
            if let host = job.host, let start = job.startedAt {
                let time = ProgressLine.time(max(0, -start.timeIntervalSinceNow))
                text += ", on \(ProgressReport.line(host)) for \(time)"
            }
            if let error = job.error { text += ": \(ProgressReport.line(error))" }
            return text
        }

        private static func summary(
            _ counts: [JobState: Int], _ address: PhotoQueueAddress
        ) -> String {
            let total = counts.values.reduce(0, +)
            guard total > 0 else { return "There are no jobs in \(address)." }
            let parts = JobState.allCases.compactMap { state in
                counts[state].map { "\($0) \(state)" }
            }
            let jobs = total == 1 ? "1 job" : "\(total) jobs"
            return "\(jobs) in \(address): \(parts.joined(separator: ", "))."
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says why a job does not run, or what became of it.", aliases: ["explain"])

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Argument(help: "The number of the job.", transform: JobID.init(argument:))
        var id: JobID

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                guard let job = try await jobs.info(id) else {
                    throw Stop("There is no job \(id) in \(address).")
                }
                let explanation = try await jobs.explain(id)
                if options.printsJSON {
                    return StandardOutput.writeLine(JobLine(job, explanation).jsonLine)
                }
                if let photo = job.photo {
                    StandardOutput.writeLine(
                        "\(ProgressReport.line(photo.source)) → "
                            + "\(ProgressReport.line(photo.resultsFolder))")
                }
                let text = ProgressReport.line(explanation)
                let end = text.hasSuffix(".") ? "" : "."
                StandardOutput.writeLine(text.prefix(1).uppercased() + text.dropFirst() + end)
            }
        }
    }
}

/// The states that jobs of photos can have.
enum StateName: String, ExpressibleByArgument, CaseIterable {
    case available, running, retryable, completed, cancelled, discarded

    var state: JobState? { JobState.allCases.first { $0.description == rawValue } }
}

extension JobID {
    /// Parses an argument.
    init(argument: String) throws {
        guard let number = Int64(argument), number > 0 else {
            throw ValidationError("\"\(argument)\" is not the number of a job.")
        }
        self.init(number)
    }
}

extension JobInfo {
    /// The job of a photo; nil for an archived job, and for a job that another version stored.
    var photo: PhotoJob? { (try? job(as: PhotoJob.self)) ?? nil }
}
