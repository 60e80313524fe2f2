import OperationsRuntime

import class Foundation.FileManager
import func Foundation.NSTemporaryDirectory

/// Runs rounds in processes of some seconds each, and reports the first failure.
struct Supervisor {
    let options: Options
    let session: Session

    init(_ options: Options, program: String) throws {
        self.options = options
        let folder = NSTemporaryDirectory() + "operations-stress-\(monotonicNanoseconds())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        session = Session(folder: folder, program: program)
    }

    /// Returns the status with which the process ends.
    func run() throws -> Int32 {
        let start = monotonicNanoseconds()
        func elapsed() -> Double { Double(monotonicNanoseconds() - start) / 1e9 }
        var (seed, rounds, sessions) = (options.seed, 0, 0)
        while true {
            // Some kinds change how the whole process works. So every other process leaves them
            // out.
            let isPlain = sessions % 2 == 0 && !options.repeats && options.plan == nil
            let without = isPlain ? options.without.union(Kind.lasting) : options.without
            let seconds = min(options.seconds - elapsed(), max(1, min(10, options.seconds / 6)))
            guard seconds > 0 else { break }
            let result = try session.run(
                from: seed, plan: options.plan, repeating: options.repeats, without: without,
                seconds: seconds)
            rounds += result.rounds
            if let failure = result.failure {
                try report(failure, without, rounds: rounds, seconds: elapsed())
                return 1
            }
            if !options.repeats { seed = result.seed + 1 }
            sessions += 1
        }
        try? FileManager.default.removeItem(atPath: session.folder)
        Output.write(
            "no failure in \(rounds) rounds of \(options.seconds) s, seeds \(options.seed) to "
                + "\(seed - (options.repeats ? 0 : 1))\n")
        return 0
    }

    private func report(
        _ failure: Failure, _ without: Set<Kind>, rounds: Int, seconds: Double
    ) throws {
        let plan = options.plan ?? Plan(seed: failure.seed, without: without)
        let list = Options.list(without).map { " --without \($0)" } ?? ""
        Output.write(
            """
            FAILED: seed \(failure.seed) \(failure.manner), after \(rounds) rounds and \
            \(tenths(seconds)) s
            \(failure.output.suffix(20_000))
            Repeat it: operations-stress --seed \(failure.seed) --repeat\(list)


            """)
        guard options.shrinkSeconds > 0 else { return }
        var shrinker = Shrinker(session, failure, seconds: options.shrinkSeconds)
        guard let smallest = try shrinker.shrink(plan) else {
            return Output.write(
                "The plan did not fail again within 15 s (\(plan.steps.count) steps):\n\(plan.text)"
            )
        }
        let file = session.folder + "/smallest"
        _ = FileManager.default.createFile(atPath: file, contents: .init(smallest.text.utf8))
        Output.write(
            """
            The smallest plan found that fails in the same way (\(smallest.steps.count) of \
            \(plan.steps.count) steps, \(shrinker.attempts) attempts):
            \(smallest.text)
            Repeat it: operations-stress --plan \(file)

            """)
    }

    private func tenths(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
