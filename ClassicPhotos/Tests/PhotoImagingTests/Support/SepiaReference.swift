import Foundation

/// The sepia formula in its simplest form; the reference for the engine's tables.
enum SepiaReference {
    static func apply(_ color: [UInt8], intensity: Double) -> [UInt8] {
        apply(color.map { Double($0) / 255 }, intensity: intensity)
            .map { UInt8((255 * $0).rounded()) }
    }

    /// The formula for channels from 0 to 1.
    static func apply(_ color: [Double], intensity: Double) -> [Double] {
        let linear = color.map(decode)
        let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        let brown = [
            pow(luminance, 0.78), 0.989 * pow(luminance, 1.085), 0.9145 * pow(luminance, 1.902),
        ]
        return zip(linear, brown).map { encode($0 + intensity * ($1 - $0)) }
    }

    private static func decode(_ value: Double) -> Double {
        value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    private static func encode(_ value: Double) -> Double {
        value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055
    }
}
