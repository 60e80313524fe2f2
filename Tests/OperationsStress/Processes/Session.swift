import OperationsRuntime

import struct Foundation.Data
import class Foundation.FileHandle
import class Foundation.FileManager
import class Foundation.Process
import struct Foundation.URL

/// Runs rounds in another process, which may crash or hang.
struct Session {
    /// The folder for what the processes leave.
    let folder: String
    /// The program; this one.
    let program: String

    struct Result {
        let failure: Failure?
        /// The last seed.
        let seed: UInt64
        let rounds: Int
    }

    /// Runs seeds from one on, or one plan again and again.
    func run(
        from seed: UInt64 = 0, plan: Plan? = nil, repeating: Bool = false, without: Set<Kind> = [],
        seconds: Double, patience: Double = 1
    ) throws -> Result {
        let (record, output) = (folder + "/record", folder + "/output")
        for file in [record, output] { try? FileManager.default.removeItem(atPath: file) }
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        var arguments = ["--record", record, "--seconds", "\(seconds)", "--seed", "\(seed)"]
        arguments += ["--patience", "\(patience)"]
        if let plan {
            let file = folder + "/plan"
            _ = FileManager.default.createFile(atPath: file, contents: Data(plan.text.utf8))
            arguments += ["--plan", file]
        }
        if repeating { arguments.append("--repeat") }
        if let list = Options.list(without) { arguments += ["--without", list] }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let handle = FileHandle(forWritingAtPath: output)
        process.standardOutput = handle
        process.standardError = handle
        let start = monotonicNanoseconds()
        try process.run()
        process.waitUntilExit()
        let duration = Double(monotonicNanoseconds() - start) / 1e9
        let text = FileManager.default.contents(atPath: output) ?? Data()
        let entry = SeedRecord.read(path: record) ?? SeedRecord.Entry(seed: seed, rounds: 0)
        let all = String(decoding: text.prefix(200_000), as: UTF8.self)
        let manner = Failure.manner(
            status: process.terminationStatus,
            isSignal: process.terminationReason == .uncaughtSignal, output: all)
        let failure = manner.map { manner in
            Failure(
                manner: manner, seed: entry.seed, rounds: entry.rounds, seconds: duration,
                output: all)
        }
        return Result(failure: failure, seed: entry.seed, rounds: entry.rounds)
    }
}
