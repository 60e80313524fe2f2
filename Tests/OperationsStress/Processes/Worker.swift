import Operations
import OperationsRuntime

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Runs rounds in this process, until one of them fails or the time is over.
///
/// A round that crashes or hangs ends the process. So the supervisor lets another process do this.
struct Worker {
    /// The status of a process in which a round broke a rule of the model.
    static let fails: Int32 = 3
    /// The status of a process in which a round did not go on.
    static let hangs: Int32 = 4

    let options: Options

    /// Returns the status with which the process ends.
    func run() -> Int32 {
        OperationsDiagnostics.handler = { finding in
            switch finding {
            case .dependencyCycle, .circularWait:
                // No plan has a circle.
                Output.write("WRONG: \(finding)\n")
                exit(Self.fails)
            default: break
            }
        }
        Watchdog.start(patience: options.patience)
        guard let record = SeedRecord(path: options.record) else {
            Output.write("the file \(options.record) cannot be written\n")
            return 2
        }
        let end = monotonicNanoseconds() + UInt64(options.seconds * 1e9)
        var (seed, rounds) = (options.seed, 0)
        repeat {
            record.write(SeedRecord.Entry(seed: seed, rounds: rounds))
            let plan = options.plan ?? Plan(seed: seed, without: options.without)
            let violations = Round(plan).run()
            guard violations.isEmpty else {
                for violation in violations { Output.write("WRONG: \(violation)\n") }
                return Self.fails
            }
            rounds += 1
            if !options.repeats { seed += 1 }
        } while monotonicNanoseconds() < end
        record.write(SeedRecord.Entry(seed: seed, rounds: rounds))
        return 0
    }
}
