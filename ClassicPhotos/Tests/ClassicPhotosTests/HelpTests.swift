import OperationsTestSupport
import Subprocess
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
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
        #expect(outcome.output.contains("sepia, sepia-css, monochrome"))
    }

    @Test func versionIsPrinted() async throws {
        let outcome = try await classicphotos("--version")
        #expect(outcome.output == "0.1.0\n")
    }
}
