#if PhotoImaging
extension ImageFilter {
    // The factories clamp out-of-range values to the range, as Core Image does, and replace NaN by
    // the default.

    /// Core Image's `CISepiaTone`: shades of brown over the picture's luminance, mixed in linear
    /// light.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func sepia(intensity: Double = 0.8) -> ImageFilter {
        ImageFilter(clamping: .sepia, intensity)
    }

    /// The `sepia()` of CSS: a matrix whose result is paler and greener than ``sepia(intensity:)``.
    ///
    /// - Parameter amount: the strength, from 0 (unchanged) to 1.
    public static func sepiaCSS(amount: Double = 0.8) -> ImageFilter {
        ImageFilter(clamping: .sepiaCSS, amount)
    }

    /// Gray by Rec. 709 luma with slightly soft contrast.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func monochrome(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .monochrome, intensity)
    }

    /// Dark gray with strong contrast.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func noir(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .noir, intensity)
    }

    /// Gray of the same luminance; the contrast stays the same.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func tonal(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .tonal, intensity)
    }

    /// Stronger colors and contrast.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func chrome(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .chrome, intensity)
    }

    /// Pale colors and lifted shadows.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func fade(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .fade, intensity)
    }

    /// An instant camera's muted, yellowish print.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func instant(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .instant, intensity)
    }

    /// Cool colors with some contrast.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func process(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .process, intensity)
    }

    /// Warm colors.
    ///
    /// - Parameter intensity: the strength, from 0 (unchanged) to 1.
    public static func transfer(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .transfer, intensity)
    }

    /// Darkens the picture towards the corners.
    ///
    /// - Parameters:
    ///   - amount: the darkening of the corners, 0 to 1.
    ///   - start: where the darkening begins, from 0 (the middle) to 1 (the corner).
    public static func vignette(amount: Double = 0.6, start: Double = 0.35) -> ImageFilter {
        ImageFilter(clamping: .vignette, amount, start)
    }

    /// Keeps a horizontal band sharp and blurs the rest, as if seen through a tilted lens.
    ///
    /// - Parameters:
    ///   - center: the middle of the band, from 0 (the top of the picture) to 1 (the bottom).
    ///   - band: the height of the band, as a share of the picture's height.
    ///   - transition: the distance over which the blur grows, as a share of the picture's height.
    ///   - radius: the strongest blur, in thousandths of the longer side.
    public static func tiltShift(
        center: Double = 0.5, band: Double = 0.2, transition: Double = 0.3, radius: Double = 8
    ) -> ImageFilter {
        ImageFilter(clamping: .tiltShift, center, band, transition, radius)
    }

    /// A Gaussian blur.
    ///
    /// - Parameter radius: the standard deviation, in thousandths of the longer side.
    public static func blur(radius: Double = 5) -> ImageFilter {
        ImageFilter(clamping: .blur, radius)
    }

    /// An unsharp mask on lightness.
    ///
    /// - Parameters:
    ///   - amount: the strength, from 0 (unchanged) to 5.
    ///   - radius: the size of the sharpened details, in thousandths of the longer side.
    public static func sharpen(amount: Double = 0.8, radius: Double = 1.5) -> ImageFilter {
        ImageFilter(clamping: .sharpen, amount, radius)
    }
}
#endif
