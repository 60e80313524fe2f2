import Foundation

/// Runs other programs to completion.
enum Child {
    /// The path of this program.
    static var ownPath: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

    /// Runs a program and returns its standard output.
    ///
    /// - Throws: ``Failure`` with the standard error output if the program could not start or
    ///   failed.
    static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:])
        throws
        -> String
    {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        do { try process.run() } catch { throw Failure("\(path) cannot be started: \(error)") }
        // A compiler's output on the other pipe is too short to fill it meanwhile.
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaint = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            let name = URL(fileURLWithPath: path).lastPathComponent
            throw Failure("\(name) failed: \(String(decoding: complaint, as: UTF8.self))")
        }
        return text
    }

    /// Finds a tool in the search path.
    static func find(_ tool: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(tool)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// A failure, as a sentence for the person at the terminal.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
