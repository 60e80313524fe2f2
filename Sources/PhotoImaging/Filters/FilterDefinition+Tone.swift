#if PhotoImaging
extension FilterDefinition {
    /// A power law of luminance for each channel, fitted to pictures rendered by Core Image.
    ///
    /// Of 6,621 colors in a lossless pair, no color differs by more than 1.2 levels of 255. The
    /// tests check 200 of these colors.
    static let sepia = FilterDefinition(
        .sepia, "Shades of brown, as Core Image's sepia tone",
        [.strength(default: 0.8)],
        source: "fitted to CISepiaTone output; luminance is Rec. 709, mixed in linear sRGB"
    ) { values in
        [
            .tone(
                intensity: values[0], gain: [1, 0.989, 0.9145], exponent: [0.78, 1.085, 1.902])
        ]
    }

    static let tonal = FilterDefinition(
        .tonal, "Gray of the same luminance",
        [.strength(default: 1)],
        source: "Rec. 709 luminance in linear sRGB"
    ) { values in
        [.tone(intensity: values[0], gain: [1, 1, 1], exponent: [1, 1, 1])]
    }

    static let sepiaCSS = FilterDefinition(
        .sepiaCSS, "Sepia as a browser shows it",
        [.strength("amount", default: 0.8)],
        source: "W3C Filter Effects 1, sepia(): a matrix on sRGB-encoded values"
    ) { values in
        let full = [0.393, 0.769, 0.189, 0.349, 0.686, 0.168, 0.272, 0.534, 0.131]
        return [.recolor(ColorLook(intensity: values[0], matrix: full))]
    }
}
#endif
