import ArgumentParser
import Operations
import OperationsInsight

/// The option for a file that records when each operation ran.
struct TimelineOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write a timeline of all operations to this file. Open it at ui.perfetto.dev.",
            valueName: "file"))
    var timeline: String?

    func validate() throws {
        guard timeline != "" else { throw ValidationError("--timeline must name a file.") }
    }

    /// Runs a closure with a timeline for queues, and writes the timeline however the closure ends.
    /// Without the option, the closure gets nil.
    ///
    /// An empty timeline is written first, so that an unwritable file is noticed before the work.
    ///
    /// - Throws: ``Stop`` if the file cannot be written before the work; otherwise the closure's
    ///   error, or an exit code for failure if the final write fails.
    func recording<Value>(
        _ body: (OperationTimeline?) async throws -> Value
    ) async throws -> Value {
        guard let timeline else { return try await body(nil) }
        let recording = OperationTimeline()
        do { try recording.write(to: timeline) } catch { throw Stop("\(error).") }
        let result: Result<Value, any Error>
        do { result = .success(try await body(recording)) } catch { result = .failure(error) }
        recording.stop()
        do {
            try recording.write(to: timeline)
        } catch {
            Terminal.writeError("Error: \(error).\n")
            _ = try result.get()
            throw ExitCode.failure
        }
        StandardOutput.writeLine("The timeline is in \(timeline). Open it at ui.perfetto.dev.")
        return try result.get()
    }
}
