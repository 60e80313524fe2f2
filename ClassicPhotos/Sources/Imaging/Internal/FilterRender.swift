import CVips

/// Applies filters to one bitmap; used by one thread, within one call.
///
/// Every call into the shim is within `withExtendedLifetime(self)`. Nothing else keeps the render,
/// its source pixels and its token alive until the call returns.
final class FilterRender {
    private let render: OpaquePointer
    /// The source pixels, which the render reads until it is freed.
    private let bitmap: Bitmap
    /// The owner of the token, which the render checks until it is freed.
    private let cancellation: ImagingCancellation?

    init(_ bitmap: Bitmap, cancellation: ImagingCancellation?) throws(ImagingError) {
        let render = bitmap.withPicture { cvips_render_new($0, cancellation?.token) }
        guard let render else { throw .outOfMemory }
        self.render = render
        self.bitmap = bitmap
        self.cancellation = cancellation
    }

    deinit { cvips_render_free(render) }

    func append(_ filter: ImageFilter) throws(ImagingError) {
        for step in filter.kind.definition.steps(filter.values) {
            try cancellation?.check()
            try ImageEngine.check(withExtendedLifetime(self) { append(step) }) {
                .filterFailed(detail: "\(filter) could not be applied")
            }
        }
    }

    private func append(_ step: FilterStep) -> cvips_status {
        switch step {
        case .tone(let intensity, let gain, let exponent):
            cvips_render_tone(render, intensity, gain, exponent)
        case .recolour(let look):
            cvips_render_recolour(render, look.matrix, look.curves)
        case .vignette(let amount, let start):
            cvips_render_vignette(render, amount, start)
        case .blur(let radius):
            cvips_render_blur(render, pixels(radius))
        case .tiltShift(let center, let band, let transition, let radius):
            cvips_render_tilt_shift(render, center, band, transition, pixels(radius))
        case .sharpen(let amount, let radius):
            cvips_render_sharpen(render, pixels(radius), amount)
        }
    }

    /// Converts a length in thousandths of the longer side to pixels of this bitmap.
    private func pixels(_ radius: Double) -> Double {
        radius * Double(bitmap.size.longerSide) / 1000
    }

    func finish() throws(ImagingError) -> Bitmap {
        var picture = cvips_picture()
        let status = withExtendedLifetime(self) { cvips_render_finish(render, &picture) }
        try ImageEngine.check(status) {
            .filterFailed(detail: "the pixels could not be computed")
        }
        return Bitmap(owning: picture)
    }
}
