// Builds what a description names, or 5,000 tasks that it makes up: each after those that it needs.

import OperationsFoundation

@main
struct Program {
    static func main() async throws {
        let path = CommandLine.arguments.dropFirst().first
        do {
            let text = try path.map { try String(contentsOfFile: $0, encoding: .utf8) }
            try await build(Description(parsing: text ?? Description.generated()))
        } catch {
            print("\(path ?? "the description"): \(error)")
            exit(1)
        }
    }

    private static func build(_ description: Description) async throws {
        let queue = OperationQueue(name: "build")
        queue.isSuspended = true  // Nothing starts before the explanation.
        let build = Build(description)
        try build.add(to: queue)
        print("\(description.tasks.count) tasks, \(description.tasks.flatMap(\.needs).count) needs")

        if let explanation = build["app"]?.explain() {
            print("Why does 'app' not run?")
            for cause in explanation.causes.prefix(2) { print("  \(cause)") }
        }
        // Somebody leaves a module out: what needs it cannot be built, either.
        build["module-45-60"]?.cancel(.withDependents, because: "module-45-60 is left out")

        queue.isSuspended = false
        await queue.finished()
        for (outcome, tasks) in build.outcomes() {
            let more = tasks.count > 3 ? ", …" : ""
            print("\(tasks.count) \(outcome) (\(tasks.prefix(3).joined(separator: ", "))\(more))")
        }
    }
}
