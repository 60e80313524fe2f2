import Foundation
import OperationsTestSupport
import Subprocess
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct HelpTests {
    @Test func helpDescribesCommandsAndSource() async throws {
        let outcome = try await classicphotos("--help")
        #expect(outcome.code == .exited(0))
        #expect(outcome.output.contains("serve (default)"))
        #expect(outcome.output.contains("process"))
        #expect(outcome.output.contains("A SOURCE is a folder of pictures, one picture, or a list"))
    }

    @Test(arguments: ["serve", "process"])
    func commandHelpListsFilters(command: String) async throws {
        let outcome = try await classicphotos(command, "--help")
        #expect(outcome.code == .exited(0))
        #expect(outcome.output.contains("--filter"))
        let words = outcome.output.split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.contains("sepia (intensity 0 to 1, default 0.8), sepia-css"))
        #expect(words.contains("Exit codes of all commands: 0 if everything was done"))
    }

    @Test(arguments: [["process"], ["work"], ["jobs"], ["jobs", "retry"]])
    func commandHelpExplainsQueues(command: [String]) async throws {
        let outcome = try await classicphotos(arguments: command + ["--help"])
        #expect(outcome.code == .exited(0))
        let words = outcome.output.split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.contains("Other users of the machine can see the arguments of programs"))
        #expect(words.contains("Default: the environment variable CLASSICPHOTOS_QUEUE."))
    }

    @Test func filtersAreListedWithRangesAndDefaults() async throws {
        let outcome = try await classicphotos("filters")
        #expect(outcome.code == .exited(0))
        #expect(
            outcome.output.hasPrefix(
                """
                sepia: Shades of brown, as Core Image's sepia tone.
                    intensity  0 to 1, default 0.8 (0 unchanged, 1 full)
                    e.g. --filter sepia=0.8

                """))
        #expect(
            outcome.output.contains(
                "    e.g. --filter tilt-shift=center:0.5,band:0.2,transition:0.3,radius:8\n"))
    }

    @Test(arguments: [
        ("proces", "process"), ("serv", "serve"), ("filter", "filters"), ("job", "jobs"),
        ("worker", "work"), ("wrok", "work"),
    ])
    func misspelledCommandIsCorrected(argument: String, command: String) async throws {
        let outcome = try await classicphotos(argument, "in", "--out", "out")
        #expect(outcome.code == .exited(64))
        #expect(
            outcome.errors == "Error: There is no command and no file named \"\(argument)\". "
                + "Did you mean \"classicphotos \(command)\"?\n")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionScriptNamesOptions(shell: String) async throws {
        let outcome = try await classicphotos("--generate-completion-script", shell)
        #expect(outcome.code == .exited(0))
        #expect(outcome.output.contains("dry-run") && outcome.output.contains("tilt-shift"))
        #expect(outcome.output.contains("no-work") && outcome.output.contains("prune"))
    }

    @Test func versionIsThatOfTheChangelog() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
        let changelog = try String(
            contentsOf: root.appending(path: "../../../CHANGELOG.md"), encoding: .utf8)
        let versions = changelog.matches(of: /(?m)^## (\d+\.\d+\.\d+)$/).map(\.1)
        let outcome = try await classicphotos("--version")
        #expect(outcome.output == "\(try #require(versions.first))\n")
    }
}
