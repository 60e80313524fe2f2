#if DurableJobs && JOB_FAULTS
import Foundation

/// The wall clock of one worker, which a fault shifts while the worker runs; by libfaketime. The
/// clock that leases use is not shifted: it counts the time since the start of the machine.
/// `DURABLE_JOBS_NEMESIS_TIMERS` names the library that corrects libfaketime; see the script
/// `jobs-nemesis`.
struct ShiftedClock {
    /// The worker with this clock.
    static let slot = 2

    private static let preload: String? = {
        let variable = "DURABLE_JOBS_NEMESIS_TIMERS"
        guard let timers = ProcessInfo.processInfo.environment[variable] else { return nil }
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
            .first { FileManager.default.fileExists(atPath: $0) }
            .map { "\(timers):\($0)" }
    }()

    private let file: String

    init(folder: String) { file = "\(folder)/clock" }

    var environment: [String: String] {
        guard let preload = Self.preload else { return [:] }
        return [
            "LD_PRELOAD": preload, "FAKETIME_TIMESTAMP_FILE": file,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_CACHE_DURATION": "1",
        ]
    }

    /// Shifts the clock by a number of seconds; returns false if that is impossible.
    func shift(by seconds: Int) throws -> Bool {
        guard Self.preload != nil else { return false }
        let text = "\(seconds < 0 ? "-" : "+")\(abs(seconds))s"
        // One step, so that the worker does not read half a file.
        try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
        return true
    }
}
#endif
