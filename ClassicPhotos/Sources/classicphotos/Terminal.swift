import PhotoGallery
import PhotoJobs
import PhotoLibrary
import PhotoPipeline

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The properties of the terminal, if there is one.
enum Terminal {
    /// Whether standard error is a terminal that can rewrite a line.
    static var canRewriteLines: Bool {
        guard isatty(STDERR_FILENO) == 1, let name = getenv("TERM") else { return false }
        return String(cString: name) != "dumb"
    }

    /// The width of the terminal in columns; 80 if unknown.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// All bytes of standard input, or the first `limit` of them; blocks until they are there.
    static func readInput(limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < limit {
            let count = buffer.withUnsafeMutableBytes {
                read(STDIN_FILENO, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Stop("Standard input cannot be read.") }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// The codes that erase the line of the cursor.
    static let eraseLine = "\r\u{1B}[K"

    static func writeError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}

/// Runs a command's body; ends the program with exit code 2 if the body could not even begin.
func stopping<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let stop as Stop {
        Terminal.writeError("Error: \(stop)\n")
        exit(ExitCodes.notStarted)
    } catch let problem as OutputFolder.Problem {
        Terminal.writeError("Error: \(problem)\n")
        exit(ExitCodes.notStarted)
    } catch let problem as PhotoQueueAddress.Problem {
        Terminal.writeError("Error: \(problem)\n")
        exit(ExitCodes.notStarted)
    } catch let failure as GalleryServer.Failure {
        Terminal.writeError("Error: \(failure)\n")
        exit(ExitCodes.notStarted)
    }
}
