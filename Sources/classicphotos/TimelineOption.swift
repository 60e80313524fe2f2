import ArgumentParser
import Operations

/// A file for what ran when.
struct TimelineOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file for a timeline of what ran when, which ui.perfetto.dev shows.",
            valueName: "file"))
    var timeline: String?

    func validate() throws {
        guard timeline != "" else { throw ValidationError("--timeline must name a file.") }
    }

    /// Runs a closure with a timeline for queues, and writes what that recorded however the closure ends;
    /// with nil if none was asked for.
    ///
    /// An empty one is written first: a file that cannot be written is better known before the work than
    /// after it.
    ///
    /// - Throws: ``Stop`` if the file cannot be written before the work; afterwards what the closure throws, or
    ///   that the program failed.
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
        StandardOutput.writeLine("The timeline is in \(timeline); ui.perfetto.dev shows it.")
        return try result.get()
    }
}
