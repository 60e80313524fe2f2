import class Foundation.ProcessInfo

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Random rounds of operations, in processes that may crash or hang.
@main
enum Program {
    static func main() {
        let arguments = CommandLine.arguments
        do throws(Options.Mistake) {
            let options = try Options(
                Array(arguments.dropFirst()), ProcessInfo.processInfo.environment)
            exit(run(options, program: arguments[0]))
        } catch {
            Output.write("\(error.sentence)\n\n\(Options.usage)")
            exit(2)
        }
    }

    private static func run(_ options: Options, program: String) -> Int32 {
        if options.showsUsage {
            Output.write(Options.usage)
            return 0
        }
        if options.shows {
            Output.write(
                (options.plan ?? Plan(seed: options.seed, without: options.without)).text)
            return 0
        }
        if options.isWorker { return Worker(options: options).run() }
        do {
            return try Supervisor(options, program: program).run()
        } catch {
            Output.write("the program cannot start another process: \(error)\n")
            return 2
        }
    }
}
