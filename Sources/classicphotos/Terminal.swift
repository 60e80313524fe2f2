import PhotoPipeline

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What is known of the terminal, if there is one.
enum Terminal {
    /// Whether standard error is a terminal that can rewrite a line.
    static var canRewriteLines: Bool {
        guard isatty(STDERR_FILENO) == 1, let name = getenv("TERM") else { return false }
        return String(cString: name) != "dumb"
    }

    /// Columns of the terminal; 80 if it does not say.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    static func writeError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}

/// Runs a command's body and ends the program with exit code 2 if it could not even begin.
func stopping<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let stop as Stop {
        Terminal.writeError("Error: \(stop)\n")
        exit(2)
    } catch let problem as OutputFolder.Problem {
        Terminal.writeError("Error: \(problem)\n")
        exit(2)
    }
}
