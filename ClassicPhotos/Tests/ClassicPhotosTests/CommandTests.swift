import Foundation
import OperationsTestSupport
import Subprocess
import SystemPackage
import Testing

/// The shell parts of the project's two commands, `make run` and `make test`.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct CommandTests {
    private static let project = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Writes an executable shell script.
    private func write(_ script: String, to file: URL) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }

    private func shell(
        program: String = "sh", _ command: String, in folder: URL, home: String = "/home/of me"
    ) async throws -> Outcome {
        let path = "\(folder.path)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
        let result = try await run(
            .name(program), arguments: ["-c", command],
            // `make test` runs these tests. A nested make would print the folders that it enters
            // and leaves, so the variables of the outer make are reset.
            environment: .inherit.updating([
                "PATH": path, "HOME": home, "MAKELEVEL": "0", "MAKEFLAGS": "", "MFLAGS": "",
            ]),
            workingDirectory: FilePath(folder.path), output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16))
        return Outcome(
            code: result.terminationStatus, output: result.standardOutput,
            errors: result.standardError)
    }

    // MARK: make run

    /// The source that the project's Makefile passes to the program. Scripts replace the program
    /// and its build.
    private func source(of command: String, shell program: String) async throws -> String {
        var source = ""
        try await withTemporaryFolder { folder in
            try FileManager.default.copyItem(
                at: Self.project.appendingPathComponent("Makefile"),
                to: folder.appendingPathComponent("Makefile"))
            try write("", to: folder.appendingPathComponent("Scripts/install-packages"))
            try write("", to: folder.appendingPathComponent("Scripts/pin-versions"))
            try write("", to: folder.appendingPathComponent("bin/swift"))
            try write(
                #"case "$2" in "" | --port) echo "none $*" ;; *) echo "source: $2" ;; esac"#,
                to: folder.appendingPathComponent(
                    "ClassicPhotos/.build/release/classicphotos"))
            let outcome = try await shell(program: program, command, in: folder)
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            source = outcome.output.split(separator: "\n").last.map(String.init) ?? ""
        }
        return source
    }

    @Test(arguments: ["dash", "bash"])
    func tildeIsExpandedInEveryShell(program: String) async throws {
        let home = "source: /home/of me"
        #expect(
            try await source(of: "make run SOURCE=~/Pictures", shell: program) == "\(home)/Pictures"
        )
        #expect(try await source(of: "make run SOURCE=~", shell: program) == home)
        #expect(
            try await source(of: "SOURCE='~/a  b' make run", shell: program) == "\(home)/a  b")
    }

    @Test func sourceIsPassedUnchanged() async throws {
        for name in ["it's", "a  b", "say \"hi\"", "http://h/a?b=1&c=`d`", "~/"] {
            let quoted = name.replacingOccurrences(of: "'", with: "'\\''")
            let expected = name == "~/" ? "/home/of me/" : name
            #expect(
                try await source(of: "make run SOURCE='\(quoted)'", shell: "sh")
                    == "source: \(expected)")
        }
        #expect(try await source(of: "make run", shell: "sh") == "none serve")
        #expect(
            try await source(of: "make run PORT=9000", shell: "sh") == "none serve --port 9000")
    }

    // MARK: Scripts/install-packages

    private static let locked = """
        echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)' >&2
        exit 100
        """

    /// Runs the script with a fake apt-get. Each call of apt-get runs the next of the given
    /// commands; further calls repeat the last command.
    private func install(
        patience: Int = 600, aptGetRuns commands: String...
    ) async throws -> (outcome: Outcome, calls: [Substring]) {
        var result: (Outcome, [Substring])?
        try await withTemporaryFolder { folder in
            let bin = folder.appendingPathComponent("bin")
            for name in ["swift", "sleep"] { try write("", to: bin.appendingPathComponent(name)) }
            try write("exit 1", to: bin.appendingPathComponent("dpkg-query"))
            try write(#"exec "$@""#, to: bin.appendingPathComponent("sudo"))
            let cases = commands.enumerated().map { index, command in
                "\(index == commands.count - 1 ? "*" : "\(index + 1)")) \(command) ;;"
            }
            try write(
                """
                echo "$@" >> '\(folder.path)/calls'
                case $(wc -l < '\(folder.path)/calls') in
                \(cases.joined(separator: "\n"))
                esac
                """, to: bin.appendingPathComponent("apt-get"))
            let script = Self.project.appendingPathComponent("Scripts/install-packages").path
            let outcome = try await shell(
                "INSTALL_PACKAGES_PATIENCE=\(patience) '\(script)' spin gcc", in: folder)
            let calls = try Data(contentsOf: folder.appendingPathComponent("calls"))
            result = (outcome, String(decoding: calls, as: UTF8.self).split(separator: "\n"))
        }
        return try #require(result)
    }

    @Test func installWaitsForPackageManagerLock() async throws {
        let (outcome, calls) = try await install(aptGetRuns: Self.locked, Self.locked, "exit 0")
        #expect(outcome.code == .exited(0))
        #expect(outcome.output.contains("holds the package manager's lock; waiting for it"))
        #expect(calls.count == 3)
        for call in calls {
            #expect(call.contains("-o DPkg::Lock::Timeout="))
            #expect(call.contains("install ") && call.hasSuffix(" spin gcc"))
        }
    }

    @Test func updateWaitsForPackageManagerLock() async throws {
        let (outcome, calls) = try await install(
            aptGetRuns: "echo 'E: Unable to locate package spin' >&2; exit 100", Self.locked,
            "exit 0", Self.locked, "exit 0")
        #expect(outcome.code == .exited(0))
        let verbs = calls.map { $0.contains(" update ") ? "update" : "install" }
        #expect(verbs == ["install", "update", "update", "install", "install"])
        #expect(calls.allSatisfy { $0.contains("-o DPkg::Lock::Timeout=") })
    }

    @Test func permanentLockIsReported() async throws {
        let (outcome, _) = try await install(patience: 0, aptGetRuns: Self.locked)
        #expect(outcome.code == .exited(1))
        #expect(outcome.errors.contains("Could not get lock /var/lib/apt/lists/lock"))
    }
}
