#if PhotoImaging
/// Our own looks, modeled on Core Image's photo effects, whose tables are not published. All looks
/// work on sRGB-encoded values.
extension FilterDefinition {
    private static func look(
        _ kind: ImageFilter.Kind, _ summary: String, source: String,
        _ make: @escaping @Sendable (Double) -> ColorLook
    ) -> FilterDefinition {
        FilterDefinition(kind, summary, [.strength(default: 1)], source: "own: \(source)") {
            [.recolor(make($0[0]))]
        }
    }

    static let monochrome = look(
        .monochrome, "Black and white with soft contrast",
        source: "Rec. 709 luma, then 0.92 x + 0.04"
    ) {
        ColorLook(intensity: $0, matrix: ColorLook.saturation(0)) { 0.92 * $0 + 0.04 }
    }

    static let noir = look(
        .noir, "Black and white with strong contrast",
        source: "Rec. 709 luma, full S-curve, darkened"
    ) {
        ColorLook(intensity: $0, matrix: ColorLook.saturation(0)) {
            contrastCurve(0.94 * contrastCurve($0, strength: 1) + 0.06 * $0, strength: 0.7)
        }
    }

    static let chrome = look(
        .chrome, "Strong colors and contrast", source: "saturation 1.25, half an S-curve"
    ) {
        ColorLook(intensity: $0, matrix: ColorLook.saturation(1.25)) {
            contrastCurve($0, strength: 0.5)
        }
    }

    static let fade = look(
        .fade, "Pale colors, lifted shadows", source: "saturation 0.7, then 0.85 x + 0.11"
    ) {
        ColorLook(intensity: $0, matrix: ColorLook.saturation(0.7)) { 0.85 * $0 + 0.11 }
    }

    static let instant = look(
        .instant, "An instant camera's print",
        source: "saturation 0.75; warm lifted shadows, yellow highlights"
    ) {
        ColorLook(
            intensity: $0, matrix: ColorLook.saturation(0.75),
            red: { 0.1 + 0.9 * contrastCurve($0, strength: 0.3) },
            green: { 0.07 + 0.89 * contrastCurve($0, strength: 0.3) },
            blue: { 0.11 + 0.69 * $0 })
    }

    static let process = look(
        .process, "Cool colors", source: "less red in shadows, more blue, a third of an S-curve"
    ) {
        ColorLook(
            intensity: $0, matrix: ColorLook.identity,
            red: { contrastCurve($0, strength: 0.6) - 0.07 * (1 - $0) * $0 * 4 },
            green: { contrastCurve($0, strength: 0.35) },
            blue: { 0.07 + 0.93 * contrastCurve($0, strength: 0.2) })
    }

    static let transfer = look(
        .transfer, "Warm colors", source: "more red, less blue, slightly lifted"
    ) {
        ColorLook(
            intensity: $0, matrix: ColorLook.saturation(0.92),
            red: { 0.05 + 0.95 * $0 + 0.06 * (1 - $0) * $0 * 4 },
            green: { 0.03 + 0.94 * $0 },
            blue: { 0.03 + 0.79 * $0 })
    }
}
#endif
