#if PhotoImaging
/// The description of a kind of filter, for help texts, a picker's sliders and the engine.
public struct FilterDefinition: Sendable {
    /// The name in text, such as `tilt-shift`.
    public let name: String

    /// The effect of the filter, in one line.
    public let summary: String

    /// The parameters, in the order in which text without parameter names lists their values.
    public let parameters: [FilterParameter]

    /// The origin of the formula.
    public let source: String

    /// Returns the engine's steps for values in the order of ``parameters``.
    let steps: @Sendable ([Double]) -> [FilterStep]

    init(
        _ kind: ImageFilter.Kind, _ summary: String, _ parameters: [FilterParameter],
        source: String, steps: @escaping @Sendable ([Double]) -> [FilterStep]
    ) {
        self.name = kind.rawValue
        self.summary = summary
        self.parameters = parameters
        self.source = source
        self.steps = steps
    }

    /// The definitions of all filters.
    public static let all: [FilterDefinition] = ImageFilter.Kind.allCases.map(\.definition)
}

extension ImageFilter.Kind {
    /// The effect and the parameters of this kind of filter.
    public var definition: FilterDefinition {
        switch self {
        case .sepia: .sepia
        case .sepiaCSS: .sepiaCSS
        case .monochrome: .monochrome
        case .noir: .noir
        case .tonal: .tonal
        case .chrome: .chrome
        case .fade: .fade
        case .instant: .instant
        case .process: .process
        case .transfer: .transfer
        case .vignette: .vignette
        case .tiltShift: .tiltShift
        case .blur: .blur
        case .sharpen: .sharpen
        }
    }
}

extension FilterDefinition {
    /// The index of a parameter.
    func index(of parameter: String) throws(ImagingError) -> Int {
        guard let index = parameters.firstIndex(where: { $0.name == parameter }) else {
            throw .invalidArgument(
                "\(name) has no parameter \"\(parameter)\": it takes \(parameterList).")
        }
        return index
    }

    func check(_ value: Double, for parameter: FilterParameter) throws(ImagingError) {
        // No range contains NaN.
        guard parameter.range.contains(value) else {
            throw .invalidArgument(
                "\(parameter.name) of \(name) must be \(parameter.rangeText), "
                    + "not \(FilterParameter.text(value)).")
        }
    }

    /// The parameters for messages: `intensity (0 to 1)`.
    var parameterList: String {
        parameters.map { "\($0.name) (\($0.rangeText))" }.joined(separator: ", ")
    }
}
#endif
