extension ImageFilter {
    // Out-of-range values become the nearest in range, as Core Image does; NaN becomes the default.

    /// Core Image's `CISepiaTone`: shades of brown over the picture's luminance, mixed in linear
    /// light. `intensity` from 0 (unchanged) to 1.
    public static func sepia(intensity: Double = 0.8) -> ImageFilter {
        ImageFilter(clamping: .sepia, intensity)
    }

    /// The `sepia()` of CSS, a matrix that is paler and greener than ``sepia(intensity:)``.
    /// `amount` from 0 (unchanged) to 1.
    public static func sepiaCSS(amount: Double = 0.8) -> ImageFilter {
        ImageFilter(clamping: .sepiaCSS, amount)
    }

    /// Grey by Rec. 709 luma with slightly soft contrast. `intensity` from 0 (unchanged) to 1.
    public static func monochrome(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .monochrome, intensity)
    }

    /// Dark grey with strong contrast. `intensity` from 0 (unchanged) to 1.
    public static func noir(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .noir, intensity)
    }

    /// Grey of the same luminance, contrast kept. `intensity` from 0 (unchanged) to 1.
    public static func tonal(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .tonal, intensity)
    }

    /// Stronger colours and contrast. `intensity` from 0 (unchanged) to 1.
    public static func chrome(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .chrome, intensity)
    }

    /// Pale colours, lifted shadows. `intensity` from 0 (unchanged) to 1.
    public static func fade(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .fade, intensity)
    }

    /// An instant camera's muted, yellowish print. `intensity` from 0 (unchanged) to 1.
    public static func instant(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .instant, intensity)
    }

    /// Cool colours with some contrast. `intensity` from 0 (unchanged) to 1.
    public static func process(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .process, intensity)
    }

    /// Warm colours. `intensity` from 0 (unchanged) to 1.
    public static func transfer(intensity: Double = 1) -> ImageFilter {
        ImageFilter(clamping: .transfer, intensity)
    }

    /// Darkens towards the corners. `amount` is how dark the corner gets, 0 to 1; `start` is where
    /// the darkening begins, from 0 (the middle) to 1 (the corner).
    public static func vignette(amount: Double = 0.6, start: Double = 0.35) -> ImageFilter {
        ImageFilter(clamping: .vignette, amount, start)
    }

    /// Keeps a horizontal band sharp and blurs what is away from it, as if seen through a tilted
    /// lens.
    ///
    /// `center` (of the band, 0 the top, 1 the bottom), `band` (its height) and `transition` (the
    /// distance over which the blur grows) are shares of the picture's height; `radius` is the
    /// strongest blur, in thousandths of the longer side.
    public static func tiltShift(
        center: Double = 0.5, band: Double = 0.2, transition: Double = 0.3, radius: Double = 8
    ) -> ImageFilter {
        ImageFilter(clamping: .tiltShift, center, band, transition, radius)
    }

    /// Gaussian blur. `radius` is the standard deviation in thousandths of the longer side.
    public static func blur(radius: Double = 5) -> ImageFilter {
        ImageFilter(clamping: .blur, radius)
    }

    /// Unsharp mask on lightness. `amount` is the strength, 0 (unchanged) to 5; `radius` is the
    /// size of the details, in thousandths of the longer side.
    public static func sharpen(amount: Double = 0.8, radius: Double = 1.5) -> ImageFilter {
        ImageFilter(clamping: .sharpen, amount, radius)
    }
}
