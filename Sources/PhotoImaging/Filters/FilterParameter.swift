#if PhotoImaging
/// A parameter of a filter: its name, range, default and unit.
public struct FilterParameter: Sendable, Hashable {
    /// The name in text and in ``ImageFilter/subscript(parameter:)``.
    public let name: String

    /// The valid values.
    public let range: ClosedRange<Double>

    /// The value used when a filter does not give one.
    public let defaultValue: Double

    /// The unit of the values, such as "share of the height".
    public let unit: String

    init(_ name: String, in range: ClosedRange<Double>, default value: Double, unit: String) {
        self.name = name
        self.range = range
        self.defaultValue = value
        self.unit = unit
    }

    /// The strength of a filter: the share of the filtered picture in the result.
    static func strength(_ name: String = "intensity", default value: Double) -> FilterParameter {
        FilterParameter(name, in: 0...1, default: value, unit: "0 unchanged, 1 full")
    }

    /// The range in words: `0 to 1`.
    public var rangeText: String {
        "\(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
    }

    func clamp(_ value: Double) -> Double {
        value.isNaN ? defaultValue : min(max(value, range.lowerBound), range.upperBound)
    }

    /// A number without a superfluous ".0".
    static func text(_ value: Double) -> String {
        let whole = Int(exactly: value)
        return whole.map(String.init) ?? String(value)
    }
}
#endif
