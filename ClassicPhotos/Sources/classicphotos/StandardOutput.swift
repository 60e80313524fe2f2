import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Standard output that treats lost output as an error of the program.
enum StandardOutput {
    private static let problem = Mutex<Int32?>(nil)

    /// Prepares the three standard files; must be called first.
    ///
    /// However the program ends, it then reports lost output in a message and in its exit code.
    static func prepare() {
        // A file opened later would get the number of a closed standard file and receive its
        // output.
        for file in STDIN_FILENO...STDERR_FILENO where fcntl(file, F_GETFD) == -1 {
            _ = open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
        #if canImport(Glibc)
        // Workers may be decoding a picture, and the destructors of the libraries that decode must
        // not run beside them. So this handler, which is the last one, ends the process.
        on_exit(
            { status, _ in
                StandardOutput.flush()
                _exit(status)
            }, nil)
        #else
        atexit { StandardOutput.flush() }
        #endif
    }

    private static func flush() {
        // Output of the argument parser may still be in a buffer.
        if fflush(nil) != 0 { recordError(errno) }
        exitIfBroken()
    }

    /// Writes a line immediately.
    static func writeLine(_ line: String) {
        problem.withLock { problem in
            guard problem == nil else { return }
            var rest = Array("\(line)\n".utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    problem = count < 0 ? errno : EIO
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Ends the program with a message and exit code 1 if any output was lost.
    static func exitIfBroken() {
        guard let code = problem.withLock({ $0 }) else { return }
        Terminal.writeError(
            "Error: the output cannot be written: \(String(cString: strerror(code))).\n")
        _exit(1)
    }

    private static func recordError(_ code: Int32) {
        problem.withLock { problem in problem = problem ?? code }
    }
}
