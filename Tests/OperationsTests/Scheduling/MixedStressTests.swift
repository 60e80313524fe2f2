import OperationsTestSupport
import Testing

import class Foundation.FileHandle
import class Foundation.FileManager
import class Foundation.Process
import class Foundation.ProcessInfo
import struct Foundation.URL

/// Rounds of everything that people mix, in another process, which may crash or hang.
///
/// `Tests/OperationsStress` is the program, and `--help` lists its options.
/// `OPERATIONS_STRESS_SECONDS` says for how long it runs. The seeds are the same in each run,
/// unless `OPERATIONS_NEW_SEEDS=1`; `OPERATIONS_STRESS_SEED` repeats one seed, and
/// `OPERATIONS_STRESS_WITHOUT` leaves out kinds of work and disturbances. A failure prints its
/// seed, and the smallest plan found that fails in the same way.
@Suite(.ownThreads, .timeLimit(.minutes(600)))
struct MixedStressTests {
    /// The program lies beside that of the tests.
    private static let program: URL? = {
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let program = folder.appendingPathComponent("operations-stress")
        return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
    }()

    @Test func mixedRoundsKeepAllGuarantees() async throws {
        let program = try #require(
            Self.program,
            "Build the program: swift build --product operations-stress, or make stress")
        let (status, output) = await onThread { Self.run(program) }
        #expect(status == 0, "\(output)")
    }

    /// Shows that a status of the program reaches the tests.
    @Test func unknownKindIsRefused() async throws {
        let program = try #require(Self.program)
        let (status, output) = await onThread { Self.run(program, "--without", "nothing") }
        #expect(status == 2)
        #expect(output.contains("'nothing' is no kind"))
    }

    private static func run(_ program: URL, _ arguments: String...) -> (Int32, String) {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("mixed-stress-\(UInt64.random(in: 0...UInt64.max))").path
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = FileHandle(forWritingAtPath: path)
        do {
            try process.run()
        } catch {
            return (-1, "\(error)")
        }
        process.waitUntilExit()
        let output = FileManager.default.contents(atPath: path) ?? .init()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
