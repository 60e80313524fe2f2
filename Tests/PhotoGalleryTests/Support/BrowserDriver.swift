import Subprocess

/// The program that steers a browser, `chromedriver`, as a child process.
enum BrowserDriver {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a closure with the port of a new driver, which is killed afterwards.
    ///
    /// The driver takes a port that is free on one address (IPv4 or IPv6), and ends if another
    /// program has the same port on the other address. The next attempt gets another port.
    static func run(
        _ program: Executable = .name("chromedriver"), attempts: Int = 10,
        _ body: @escaping @Sendable (_ port: Int) async throws -> Void
    ) async throws {
        var words = ""
        for _ in 0..<attempts {
            let run = try await Subprocess.run(
                program, arguments: ["--port=0"], input: .none, output: .sequence,
                error: .combinedWithOutput
            ) { driver in
                let announcement = try await announcement(driver.standardOutput)
                guard let port = announcement.port else { return Attempt.ended(announcement.words) }
                do {
                    try await body(port)
                } catch {
                    try? driver.send(signal: .kill)
                    throw error
                }
                try? driver.send(signal: .kill)
                return .done
            }
            switch run.closureResult {
            case .done: return
            case .ended(let sentence): words = sentence
            }
        }
        throw Failure(
            description:
                "the browser's driver did not start in \(attempts) attempts; "
                + "it said: \(words)")
    }

    private enum Attempt: Sendable {
        case done
        case ended(_ words: String)
    }

    /// The port on which a driver says that it listens, nil if it ended without, and all that it
    /// said.
    private static func announcement(
        _ output: SubprocessOutputSequence
    ) async throws -> (port: Int?, words: String) {
        var words: [String] = []
        for try await line in output.strings() {
            words.append(line)
            guard let range = line.firstRange(of: "successfully on port ") else { continue }
            let digits = line[range.upperBound...].prefix { $0.isNumber }
            if let port = Int(digits) { return (port, "") }
        }
        return (nil, words.joined(separator: "\n"))
    }
}
