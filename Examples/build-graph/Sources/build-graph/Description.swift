/// What there is to build, and what each task needs.
///
/// A line for each task, in any order: `name: need need …`. An exclamation mark before the name
/// stands for an error in the source, at which the task fails.
struct Description: Sendable {
    struct Task: Sendable {
        let name: String
        let needs: [String]
        let hasError: Bool
    }

    let tasks: [Task]

    init(parsing text: String) throws(DescriptionError) {
        var tasks: [Task] = []
        var names: Set<String> = []
        for (index, line) in text.split(separator: "\n").enumerated() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count >= 1, line.contains(":") else {
                throw DescriptionError(line: index + 1, message: "write 'name: need need …'")
            }
            let hasError = parts[0].hasPrefix("!")
            let name = String(hasError ? parts[0].dropFirst() : parts[0])
            guard names.insert(name).inserted else {
                throw DescriptionError(line: index + 1, message: "'\(name)' is there already")
            }
            let needs = parts.dropFirst().flatMap { $0.split(separator: " ").map(String.init) }
            tasks.append(Task(name: name, needs: needs, hasError: hasError))
        }
        for (index, task) in tasks.enumerated() {
            for need in task.needs where !names.contains(need) {
                throw DescriptionError(
                    line: index + 1, message: "'\(task.name)' needs '\(need)', which is not there")
            }
        }
        self.tasks = tasks
    }

    /// 49 layers of 100 modules, 99 tests and a program: 5,000 tasks. One module has an error.
    static func generated() -> String {
        var lines: [String] = []
        for layer in 1...49 {
            for index in 0..<100 {
                let needs =
                    layer == 1 ? [] : [index, (index + 1) % 100].map { name(layer - 1, $0) }
                let mark = (layer, index) == (40, 17) ? "!" : ""
                lines.append("\(mark)\(name(layer, index)): \(needs.joined(separator: " "))")
            }
        }
        let top = (0..<99).map { name(49, $0) }
        lines += top.map { "test-\($0): \($0)" }
        lines.append("app: \(top.joined(separator: " "))")
        // The order of the lines does not matter: those that need come first here.
        return lines.reversed().joined(separator: "\n")
    }

    private static func name(_ layer: Int, _ index: Int) -> String { "module-\(layer)-\(index)" }
}

/// A line that is no task.
struct DescriptionError: Error, CustomStringConvertible {
    let line: Int
    let message: String

    var description: String { "line \(line): \(message)" }
}
