import ArgumentParser
import DurableJobs
import PhotoJobs

// The subcommands of `jobs` that stop the workers of a queue and let them go on.

extension Jobs {
    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets no job begin, on any machine, until \"resume\".",
            discussion: """
                Jobs that run go on. The command returns when every worker has answered. The pause \
                stays when workers end and start again.
                """)

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        @Option(help: "Why, for people who ask what a job waits for.")
        var reason = "a person has paused it"

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                try await jobs.pause(reason: reason)
                StandardOutput.writeLine(
                    options.printsJSON ? "{\"isPaused\":true}" : "Paused \(address).")
            }
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets jobs begin again after \"pause\".")

        @ParentCommand var parent: Jobs

        @OptionGroup var options: JobsOptions

        func run() async throws {
            try await options.withQueue(parent.queue) { jobs, address in
                try await jobs.resume()
                StandardOutput.writeLine(
                    options.printsJSON ? "{\"isPaused\":false}" : "Resumed \(address).")
            }
        }
    }
}
