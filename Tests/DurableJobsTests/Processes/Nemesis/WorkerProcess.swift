#if DurableJobs && (DEBUG || JOB_FAULTS)
import Foundation

/// A child process that runs one test of this program.
///
/// Not an exit test: each exit test that waits blocks one of the few threads of Swift's tasks.
enum WorkerProcess {
    /// Starts a child.
    ///
    /// - Parameters:
    ///   - test: the name of the test, which the variables switch on.
    ///   - command: a program and its arguments that execute the rest of the command line.
    ///   - ended: called with the exit status when the child has ended, for whatever reason.
    /// - Returns: the number of the process.
    static func start(
        test: String, through command: [String] = [], environment: [String: String],
        ended: @escaping @Sendable (Int32) -> Void
    ) throws -> Int32 {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            command + [program, "--testing-library", "swift-testing", "--filter", test]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.terminationHandler = { ended($0.terminationStatus) }
        try process.run()
        return process.processIdentifier
    }
}
#endif
