#if DurableJobs
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Faults that tests switch on through the environment. Only builds with the condition `JOB_FAULTS`
/// have them: a user's build, a debug build too, must not become unsafe through its environment.
///
/// The names of the broken protocols are those of the macros of `Models/lease.pml`.
package enum Faults {
    #if JOB_FAULTS
    private static let names = getenv("DURABLE_JOBS_FAULTS").map { String(cString: $0) } ?? ""

    private static func has(_ name: String) -> Bool {
        names.split(separator: " ").contains { $0 == name }
    }

    /// Whether a report asks for nothing but the job's number.
    static let unguarded = has("unguarded")
    /// Whether a report asks whether the job is running, not whose attempt it is.
    static let running = has("running")
    /// Whether a repeated commit does not recognize the first one.
    static let noRepeat = has("no-repeat")
    /// Whether files get their final names before the commit.
    package static let direct = has("direct")
    /// Whether no other worker publishes files.
    package static let noSweep = has("no-sweep")
    /// Whether a worker that loses its lease deletes the files of results that may be committed.
    static let forget = has("forget")

    /// Whether a worker waits for the store to tell that its lease is lost.
    static let noWatchdog = has("no-watchdog")

    /// Whether this answer to a transaction is to be lost.
    static func losesAnswer() -> Bool { losesAnswers && Int.random(in: 0..<10) == 0 }

    /// Blocks for some time between a commit and the publication, or stops the process there.
    static func pauseBeforePublishing() {
        if pauses { usleep(UInt32.random(in: 0..<150_000)) }
        // Another process makes the file when it wants this one to stop, and continues it later.
        if let stopFile, unlink(stopFile) == 0 { kill(getpid(), SIGSTOP) }
    }

    /// Kills the process between the use of an attachment and its removal from the store.
    package static func dieBeforeRemoval() { if diesBeforeRemoval { kill(getpid(), SIGKILL) } }

    private static let diesBeforeRemoval = has("die-before-removal")
    private static let losesAnswers = has("lose-answers")
    private static let pauses = has("pause")
    private static let stopFile = names.split(separator: " ")
        .first { $0.hasPrefix("stop-at:") }.map { String($0.dropFirst("stop-at:".count)) }
    #else
    static var unguarded: Bool { false }
    static var running: Bool { false }
    static var noRepeat: Bool { false }
    package static var direct: Bool { false }
    package static var noSweep: Bool { false }
    static var forget: Bool { false }
    static var noWatchdog: Bool { false }
    static func losesAnswer() -> Bool { false }
    static func pauseBeforePublishing() {}
    package static func dieBeforeRemoval() {}
    #endif
}
#endif
