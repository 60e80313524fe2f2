#if PhotoImaging
extension ImageFilter {
    /// Parses a filter written as on a command line.
    ///
    /// The forms are `name`, `name=value` for the first parameter, `name=value,value`, and named
    /// parameters: `tilt-shift=center:0.4,radius:12`. Omitted parameters take their defaults. Names
    /// are not case-sensitive.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)``, whose text names the invalid part and the
    ///   valid alternatives.
    public init(_ text: String) throws(ImagingError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].trimmed
        guard name.lowercased() != Self.lookName else {
            throw .invalidArgument("A look is a file, which cannot be named here.")
        }
        guard let kind = Kind(rawValue: name.lowercased()) else {
            let names = Kind.allCases.map(\.rawValue)
            let guess = closestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
            throw .invalidArgument(
                "There is no filter \"\(name)\".\(guess) Available filters: "
                    + "\(names.joined(separator: ", ")).")
        }
        let definition = kind.definition
        var values = definition.parameters.map(\.defaultValue)
        let arguments =
            parts.count == 1 ? [] : parts[1].split(separator: ",", omittingEmptySubsequences: false)
        var given: Set<Int> = []
        for (position, argument) in arguments.enumerated() {
            let (index, value) = try definition.parse(argument, at: position)
            guard given.insert(index).inserted else {
                throw .invalidArgument(
                    "\(definition.parameters[index].name) of \(definition.name) is given twice in "
                        + "\"\(text)\".")
            }
            values[index] = value
        }
        self.init(kind: kind, values: values)
    }
}

extension ImageFilter {
    /// Parses filters that are separated by commas, such as `sepia=0.8,tilt-shift=0.4,radius:12`.
    ///
    /// A part that is a number, or begins with the name of a parameter, is a further value of the
    /// filter before it.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)``, as ``init(_:)-(String)``.
    public static func chain(_ text: String) throws(ImagingError) -> [ImageFilter] {
        var texts: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let head = part.prefix { $0 != "=" }
            let isValue = Double(part.trimmed) != nil || head.contains(":")
            if isValue, let last = texts.popLast() {
                texts.append("\(last),\(part)")
            } else {
                texts.append(String(part))
            }
        }
        var filters: [ImageFilter] = []
        for text in texts { filters.append(try ImageFilter(text)) }
        return filters
    }
}

extension ImageFilter: CustomStringConvertible {
    /// Text that ``init(_:)-(String)`` parses into an equal value, such as `sepia=0.8`.
    ///
    /// The text of a look has a number instead of its file. The number differs for different looks,
    /// but no look can be made from it.
    public var description: String {
        guard let kind else {
            let number = String(look?.fingerprint ?? 0, radix: 16)
            return "\(Self.lookName)=intensity:\(FilterParameter.text(values[0])),#\(number)"
        }
        if values.count == 1 { return "\(kind.rawValue)=\(FilterParameter.text(values[0]))" }
        let arguments = zip(parameters, values).map { "\($0.name):\(FilterParameter.text($1))" }
        return "\(kind.rawValue)=\(arguments.joined(separator: ","))"
    }
}

extension ImageFilter: Codable {
    private enum LookKey: CodingKey {
        case look, intensity
    }

    /// Reads the text form of a filter, or a look with its table.
    public init(from decoder: any Decoder) throws {
        do {
            if let container = try? decoder.container(keyedBy: LookKey.self) {
                let cube = try container.decode(String.self, forKey: .look)
                let intensity = try container.decode(Double.self, forKey: .intensity)
                self = .look(try Look(cube: Array(cube.utf8)), intensity: intensity)
            } else {
                try self.init(decoder.singleValueContainer().decode(String.self))
            }
        } catch let error as ImagingError {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.description))
        }
    }

    /// Writes the text form, which stays readable if later versions add parameters; and a look with
    /// its whole table, which can take megabytes.
    public func encode(to encoder: any Encoder) throws {
        guard let look else {
            var container = encoder.singleValueContainer()
            return try container.encode(description)
        }
        var container = encoder.container(keyedBy: LookKey.self)
        try container.encode(look.cubeText, forKey: .look)
        try container.encode(values[0], forKey: .intensity)
    }
}

extension FilterDefinition {
    /// One argument of the text form: the index of the parameter and its value.
    fileprivate func parse(
        _ argument: Substring, at position: Int
    ) throws(ImagingError) -> (index: Int, value: Double) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let index = parts.count == 2 ? try self.index(of: parts[0].trimmed.lowercased()) : position
        guard index < parameters.count else {
            throw .invalidArgument(
                "\"\(argument.trimmed)\" is one value too many: \(name) takes \(parameterList).")
        }
        let parameter = parameters[index]
        let number = (parts.last ?? argument).trimmed
        guard !number.isEmpty else {
            throw .invalidArgument(
                "A value is missing: \(parameter.name) of \(name) must be \(parameter.rangeText), "
                    + "as in \(name)=\(parameter.name):\(FilterParameter.text(parameter.defaultValue))."
            )
        }
        guard let value = Double(number) else {
            throw .invalidArgument(
                "\"\(number)\" is not a number: \(parameter.name) of \(name) must be "
                    + "\(parameter.rangeText).")
        }
        try check(value, for: parameter)
        return (index, value)
    }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
#endif
