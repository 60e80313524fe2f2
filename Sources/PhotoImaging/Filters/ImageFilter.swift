#if PhotoImaging
/// A filter with its parameters, as a value.
///
/// Filters can be compared, stored, and applied with ``ImageEngine/apply(_:to:cancellation:)``.
/// Filters of all kinds can also be written as text; looks from files cannot.
///
///     let warm: [ImageFilter] = [.sepia(intensity: 0.8), .vignette()]
///     let fromCommandLine = try ImageFilter("sepia=0.8")
///
/// ``Kind/definition`` describes each kind: its parameters with their ranges, defaults and units,
/// and the origin of its formula. Parameters are always within their ranges: the factories clamp
/// values, and the throwing initializers reject them.
public struct ImageFilter: Sendable, Hashable {
    /// The kinds of filters; the raw value is the name used in text.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Core Image's sepia tone.
        case sepia
        /// The sepia of CSS.
        case sepiaCSS = "sepia-css"
        /// Gray with soft contrast.
        case monochrome
        /// Gray with strong contrast.
        case noir
        /// Gray of the same lightness.
        case tonal
        /// Strong colors and contrast.
        case chrome
        /// Pale colors.
        case fade
        /// An instant camera's print.
        case instant
        /// Cool colors.
        case process
        /// Warm colors.
        case transfer
        /// Dark corners.
        case vignette
        /// A sharp band across a blurred picture.
        case tiltShift = "tilt-shift"
        /// Gaussian blur.
        case blur
        /// Stronger edges.
        case sharpen
    }

    private enum Effect: Sendable, Hashable {
        case kind(Kind)
        case look(Look)
    }

    private let effect: Effect

    /// Parameter values, in the order of ``parameters``.
    let values: [Double]

    /// The kind of the filter; nil for a look from a file.
    public var kind: Kind? {
        if case .kind(let kind) = effect { kind } else { nil }
    }

    /// The look of a filter made with ``look(_:intensity:)``; nil for all other filters.
    public var look: Look? {
        if case .look(let look) = effect { look } else { nil }
    }

    /// Creates a filter of `kind`; parameters missing in `values` take their defaults.
    ///
    /// - Throws: ``ImagingError/invalidArgument(_:)`` if the filter has no such parameter, or if a
    ///   value is out of range.
    public init(_ kind: Kind, _ values: [String: Double] = [:]) throws(ImagingError) {
        let definition = kind.definition
        for name in values.keys.sorted() { _ = try definition.index(of: name) }
        var list: [Double] = []
        for parameter in definition.parameters {
            let value = values[parameter.name] ?? parameter.defaultValue
            try definition.check(value, for: parameter)
            list.append(value)
        }
        self.init(kind: kind, values: list)
    }

    /// Creates a filter from values that are known to be valid.
    init(kind: Kind, values: [Double]) {
        effect = .kind(kind)
        self.values = values
    }

    /// Creates the filter of a look, of which the intensity is valid.
    init(_ look: Look, intensity: Double) {
        effect = .look(look)
        values = [intensity]
    }

    /// Creates a filter for a factory; clamps values that are out of range.
    init(clamping kind: Kind, _ values: Double...) {
        let parameters = kind.definition.parameters
        precondition(values.count == parameters.count, "a factory must name every parameter")
        self.init(kind: kind, values: zip(parameters, values).map { $0.clamp($1) })
    }

    /// The parameters that the filter has.
    var parameters: [FilterParameter] {
        kind?.definition.parameters ?? [.strength(default: 1)]
    }

    /// The steps of the engine.
    var steps: [FilterStep] {
        switch effect {
        case .kind(let kind): kind.definition.steps(values)
        case .look(let look): [.look(look, intensity: values[0])]
        }
    }

    /// Whether gray pixels stay gray.
    var keepsGray: Bool { steps.allSatisfy(\.keepsGray) }

    /// The value of a parameter, or nil if the filter has no parameter of that name.
    public subscript(parameter name: String) -> Double? {
        parameters.firstIndex { $0.name == name }.map { values[$0] }
    }
}
#endif
