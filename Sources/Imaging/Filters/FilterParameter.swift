/// What one parameter of a filter means.
public struct FilterParameter: Sendable, Hashable {
    /// Its name in text and in ``ImageFilter/subscript(parameter:)``.
    public let name: String

    /// The values it may have.
    public let range: ClosedRange<Double>

    /// Its value when none is given.
    public let defaultValue: Double

    /// What its values count, such as "share of the height".
    public let unit: String

    init(_ name: String, in range: ClosedRange<Double>, default value: Double, unit: String) {
        self.name = name
        self.range = range
        self.defaultValue = value
        self.unit = unit
    }

    /// How much of a filter is mixed with the unchanged picture.
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
