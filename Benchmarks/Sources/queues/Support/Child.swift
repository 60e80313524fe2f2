import Foundation

/// Another program, run to its end.
enum Child {
    /// The same program as this one.
    static var ownPath: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

    /// What it wrote to standard output.
    ///
    /// - Throws: ``Failure`` with what it wrote to standard error, if it could not be started or failed.
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
        // A compiler says little enough for the other pipe not to fill up meanwhile.
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

    /// Where a tool is, by the search path.
    static func find(_ tool: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(tool)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// A sentence for the person at the terminal.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
