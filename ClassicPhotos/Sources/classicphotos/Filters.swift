import ArgumentParser
import PhotoImaging

/// Lists the filters.
struct Filters: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "filters",
        abstract: "Lists the filters with their parameters, ranges and defaults.")

    func run() {
        for definition in FilterDefinition.all {
            StandardOutput.writeLine("\(definition.name): \(definition.summary).")
            let width = definition.parameters.map(\.name.count).max() ?? 0
            for parameter in definition.parameters {
                let name =
                    parameter.name
                    + String(
                        repeating: " ", count: width - parameter.name.count)
                StandardOutput.writeLine(
                    "    \(name)  \(parameter.rangeText), default \(parameter.defaultText) "
                        + "(\(parameter.unit))")
            }
            StandardOutput.writeLine("    e.g. --filter \(definition.example)")
        }
        StandardOutput.writeLine(
            """
            look: The colors of a look in a .cube file, in `process` and its recipes.
                intensity  0 to 1, default 1 (0 unchanged, 1 full)
                e.g. --filter look=film.cube or --filter look=intensity:0.5,film.cube
            """)
    }
}

extension FilterParameter {
    var defaultText: String {
        Int(exactly: defaultValue).map(String.init) ?? String(defaultValue)
    }
}

extension FilterDefinition {
    /// The filter with its defaults, as written on a command line.
    var example: String {
        guard parameters.count > 1 else { return "\(name)=\(parameters[0].defaultText)" }
        let values = parameters.map { "\($0.name):\($0.defaultText)" }
        return "\(name)=\(values.joined(separator: ","))"
    }

    /// The filter in one line of a help text: `sepia (intensity 0 to 1, default 0.8)`.
    var helpLine: String {
        let list = parameters.map { "\($0.name) \($0.rangeText), default \($0.defaultText)" }
        return "\(name) (\(list.joined(separator: "; ")))"
    }
}
