import Subprocess

/// The program that controls a browser, `chromedriver`, as a child process.
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
        var output = ""
        for _ in 0..<attempts {
            let run = try await Subprocess.run(
                program, arguments: ["--port=0"], input: .none, output: .sequence,
                error: .combinedWithOutput
            ) { driver in
                let announcement = try await announcement(driver.standardOutput)
                guard let port = announcement.port else {
                    return Attempt.ended(output: announcement.output)
                }
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
            case .ended(let text): output = text
            }
        }
        throw Failure(
            description:
                "The browser's driver did not start in \(attempts) attempts. "
                + "Its output: \(output)")
    }

    private enum Attempt: Sendable {
        case done
        case ended(output: String)
    }

    /// The port that a driver announces, nil if the driver ended without one, and its output.
    private static func announcement(
        _ standardOutput: SubprocessOutputSequence
    ) async throws -> (port: Int?, output: String) {
        var lines: [String] = []
        for try await line in standardOutput.strings() {
            lines.append(line)
            guard let range = line.firstRange(of: "successfully on port ") else { continue }
            let digits = line[range.upperBound...].prefix { $0.isNumber }
            if let port = Int(digits) { return (port, "") }
        }
        return (nil, lines.joined(separator: "\n"))
    }
}
