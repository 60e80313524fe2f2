#if DurableJobs && JOB_FAULTS
import OperationsRuntime
import DurableJobFiles
import DurableJobs
import Operations
import OperationsTestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Waits, writes a word that differs at each attempt, waits, and returns the word.
struct SlowWord: Job {
    static let name = "slow word"
    static let refusedPrefix = "refused"

    var path: String
    /// The longest of each of its two waits, in milliseconds.
    var longestWait: Int
    /// Whether the body ends when its operation is cancelled; a body may also ignore that.
    var isObedient: Bool
    /// The jobs that must have completed before.
    var dependencies: [JobID] = []
    /// Whether the store refuses the word; see ``StoreChecks/refuseWords(isFile:)``.
    var isRefused = false
    /// The shortest of each of its two waits, in milliseconds.
    var shortestWait = 0
    /// Whether the body kills its process in place of the second wait.
    var isPoison = false
    /// Whether the body writes to a table of the program, and ends in the same transaction, in
    /// place of a file.
    var endsInTransaction = false
    /// Whether some attempts ask for a later one, before they begin.
    var isSleepy = false

    /// Many retries with short pauses: a deploy that cannot decode the arguments ends sooner.
    static var defaultTraits: [JobTrait] { [retries(1_000)] }

    static func retries(_ limit: Int) -> JobTrait {
        .retry(limit, backoff: .exponential(from: .milliseconds(100), max: .milliseconds(500)))
    }

    func perform(in context: JobContext) async throws -> String {
        if isSleepy, Int.random(in: 0..<3) > 0 {
            throw Snooze(for: .milliseconds(Int.random(in: 0...200)))
        }
        let run = try context.provided(RunLog.self).begin(context, isObedient: isObedient)
        defer { run.end() }
        let early = Locked<String?>(nil)
        let isChecked = Locked(dependencies.isEmpty)
        if !dependencies.isEmpty {
            // A task of its own: the body must not wait for a store that does not answer.
            Task {
                let text = await earlyDependency(in: context)
                early.withLock { $0 = text }
                isChecked.withLock { $0 = true }
            }
        }
        let number = UInt64.random(in: .min ... .max)
        let word = isRefused ? "\(Self.refusedPrefix) \(number)" : "\(number)"
        try await pause(run) { true }
        if endsInTransaction {
            try await pause(run) { isChecked.withLock { $0 } }
            if let text = early.withLock({ $0 }) { throw PermanentFailure(text) }
            // A transaction blocks its thread.
            try await onThread { Result { try complete(word, context) } }.get()
            try await pause(run) { true }
            return word
        }
        let staged = try context.stagedFile(for: path)
        try Data(word.utf8).write(to: URL(filePath: staged))
        if isPoison {
            run.killProcess()
            // Of a worker that stops, the job is handed back at the end of the grace.
            try await pause(run) { false }
        }
        try await pause(run) { isChecked.withLock { $0 } }
        if let text = early.withLock({ $0 }) { throw PermanentFailure(text) }
        try context.attach(Data(word.utf8))
        return word
    }

    private struct RolledBack: Error {}

    /// Ends in a transaction that stays open for a while, and that may not be committed. The body
    /// may not notice that.
    private func complete(_ word: String, _ context: JobContext) throws {
        guard let store = NemesisSettings.present?.store else { return }
        let (isCommitted, notices) = (Int.random(in: 0..<3) > 0, Bool.random())
        do {
            try ProgramDatabase(of: store).write { connection in
                try connection.execute("INSERT INTO effect VALUES (\(context.id.rawValue))")
                try context.complete(word, in: connection.transaction)
                // The file has one writer at a time: everybody else waits.
                usleep(UInt32.random(in: 0...(store.hasPrefix("postgres:") ? 500_000 : 50_000)))
                guard isCommitted else { throw RolledBack() }
            }
        } catch let error as RolledBack {
            if notices { throw error }
        }
    }

    /// Returns what is wrong if a dependency has not completed. A store that does not answer is no
    /// proof of that.
    private func earlyDependency(in context: JobContext) async -> String? {
        for id in dependencies {
            guard let info = try? await context.queue.info(id), info.state != .completed else {
                continue
            }
            return "it began before job \(id) was committed"
        }
        return nil
    }

    /// Takes a random time, during which a fault can strike. The time itself is what the test is
    /// about: there is no event to wait for.
    private func pause(_ run: RunLog.Run, until isDone: () -> Bool) async throws {
        let wait = Int.random(in: shortestWait...max(shortestWait, longestWait))
        let end = ContinuousClock.now + .milliseconds(wait)
        while ContinuousClock.now < end || !isDone() {
            run.note()
            if isObedient { try Task.checkCancellation() }
            await Task { try? await Task.sleep(for: .milliseconds(5)) }.value
        }
    }
}

/// The same jobs in a program whose developer has renamed a field without a new version: it decodes
/// none of them.
struct RenamedWord: Job {
    static let name = SlowWord.name

    var file: String

    func perform(in context: JobContext) async throws -> String { file }
}
#endif
