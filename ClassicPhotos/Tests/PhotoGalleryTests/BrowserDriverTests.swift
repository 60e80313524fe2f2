import Foundation
import OperationsTestSupport
import Subprocess
import Synchronization
import SystemPackage
import Testing

/// The start of the browser's driver, with shell scripts in place of the driver.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct BrowserDriverTests {
    /// Runs a closure with a shell script as the driver.
    private func withDriver(
        _ script: String, _ body: (_ program: Executable, _ folder: URL) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("driver-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appendingPathComponent("driver")
        try Data("#!/bin/sh\ncd '\(folder.path)'\n\(script)".utf8).write(to: program)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: program.path)
        try await body(.path(FilePath(program.path)), folder)
    }

    private static let portInUse = """
        echo 'Starting ChromeDriver on port 4711'
        echo 'bind() failed: Address already in use (98)' >&2
        echo 'IPv4 port not available. Exiting...'
        exit 1
        """

    @Test func driverIsRestartedIfPortIsInUse() async throws {
        let script = """
            echo start >> starts
            if [ "$(wc -l < starts)" -lt 3 ]; then
            \(Self.portInUse)
            fi
            echo 'ChromeDriver was started successfully on port 4713.'
            exec sleep 600
            """
        try await withDriver(script) { program, folder in
            let ports = Mutex<[Int]>([])
            try await BrowserDriver.run(program) { port in ports.withLock { $0.append(port) } }
            #expect(ports.withLock { $0 } == [4713])
            let starts = try Data(contentsOf: folder.appendingPathComponent("starts"))
            #expect(starts == Data("start\nstart\nstart\n".utf8))
        }
    }

    @Test func failureQuotesDriverOutput() async throws {
        try await withDriver(Self.portInUse) { program, _ in
            let failure = await #expect(throws: BrowserDriver.Failure.self) {
                try await BrowserDriver.run(program, attempts: 2) { _ in }
            }
            let message = failure?.description ?? ""
            #expect(message.contains("did not start in 2 attempts"))
            #expect(message.contains("bind() failed: Address already in use (98)"))
            #expect(message.contains("IPv4 port not available. Exiting..."))
        }
    }

    @Test func closureErrorDoesNotRestartDriver() async throws {
        struct Refusal: Error {}
        let script = """
            echo start >> starts
            echo 'ChromeDriver was started successfully on port 4713.'
            exec sleep 600
            """
        try await withDriver(script) { program, folder in
            await #expect(throws: Refusal.self) {
                try await BrowserDriver.run(program) { _ in throw Refusal() }
            }
            let starts = try Data(contentsOf: folder.appendingPathComponent("starts"))
            #expect(starts == Data("start\n".utf8))
        }
    }
}
