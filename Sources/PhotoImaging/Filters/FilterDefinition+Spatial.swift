#if PhotoImaging
extension FilterDefinition {
    /// The unit of all radii. A radius in pixels would blur a thumbnail beyond recognition but
    /// leave the full picture sharp.
    private static let radiusUnit = "thousandths of the longer side"

    static let vignette = FilterDefinition(
        .vignette, "Dark corners",
        [
            FilterParameter("amount", in: 0...1, default: 0.6, unit: "darkening of the corner"),
            FilterParameter(
                "start", in: 0...0.95, default: 0.35, unit: "share of the way to the corner"),
        ],
        source: "own: smooth step over the distance from the middle, on sRGB-encoded values"
    ) { values in
        [.vignette(amount: values[0], start: values[1])]
    }

    static let tiltShift = FilterDefinition(
        .tiltShift, "A sharp band across a blurred picture, as of a miniature",
        [
            FilterParameter("center", in: 0...1, default: 0.5, unit: "share of the height"),
            FilterParameter("band", in: 0...1, default: 0.2, unit: "share of the height"),
            FilterParameter("transition", in: 0.01...1, default: 0.3, unit: "share of the height"),
            FilterParameter("radius", in: 0...50, default: 8, unit: radiusUnit),
        ],
        source: "own, after Apple's recipe: Gaussian blur blended by a gradient mask"
    ) { values in
        [
            .tiltShift(
                center: values[0], band: values[1], transition: values[2], radius: values[3])
        ]
    }

    static let blur = FilterDefinition(
        .blur, "Gaussian blur",
        [FilterParameter("radius", in: 0...50, default: 5, unit: radiusUnit)],
        source: "Gaussian; the radius is its standard deviation"
    ) { values in
        [.blur(radius: values[0])]
    }

    static let sharpen = FilterDefinition(
        .sharpen, "Stronger edges",
        [
            FilterParameter("amount", in: 0...5, default: 0.8, unit: "strength"),
            FilterParameter("radius", in: 0.1...20, default: 1.5, unit: radiusUnit),
        ],
        source: "unsharp mask: luma minus its Gaussian blur, added to all channels"
    ) { values in
        [.sharpen(amount: values[0], radius: values[1])]
    }
}
#endif
