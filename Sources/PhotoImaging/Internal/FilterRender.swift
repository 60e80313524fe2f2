#if PhotoImaging
import CPhotoVips

/// Applies filters to one frame of a bitmap; used by one thread, within one call.
///
/// Every call into the shim is within `withExtendedLifetime(self)`. Nothing else keeps the render,
/// its source pixels and its token alive until the call returns.
final class FilterRender {
    private let render: OpaquePointer
    /// The owner of the source pixels, which the render reads until it is freed; nil if the render
    /// owns its pixels.
    private let source: Bitmap?
    /// The shape of the picture.
    private let shape: cvips_picture
    /// The owner of the token, which the render checks until it is freed.
    private let cancellation: ImagingCancellation?

    init(
        _ bitmap: Bitmap, frame: Int, cancellation: ImagingCancellation?
    ) throws(ImagingError) {
        var shape = bitmap.withPicture { cvips_picture_frame($0, Int32(frame)) }
        let render = withExtendedLifetime(bitmap) { cvips_render_new(&shape, cancellation?.token) }
        guard let render else { throw .outOfMemory }
        (self.render, self.source, self.shape) = (render, bitmap, shape)
        self.cancellation = cancellation
    }

    /// Takes ownership of the pixels and works in them.
    init(
        inPlace picture: cvips_picture, cancellation: ImagingCancellation?
    ) throws(ImagingError) {
        var shape = picture
        guard let render = cvips_render_new_in_place(&shape, cancellation?.token) else {
            cvips_free(picture.pixels)
            throw .outOfMemory
        }
        (self.render, self.source, self.shape) = (render, nil, shape)
        self.cancellation = cancellation
    }

    deinit { cvips_render_free(render) }

    func append(_ filter: ImageFilter) throws(ImagingError) {
        for step in filter.steps {
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
        case .recolor(let look):
            cvips_render_recolor(render, look.matrix, levels(of: look))
        case .look(let look, let intensity):
            look.withShimLook(intensity: intensity) { cvips_render_look(render, $0) }
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

    private func levels(of look: ColorLook) -> [UInt16] {
        shape.depth == 2
            ? look.levels(Int(CVIPS_CURVE_POINTS), upTo: 65_535)
            : look.levels(Int(CVIPS_CURVE_LEVELS), upTo: 255)
    }

    /// Converts a length in thousandths of the longer side to pixels of this bitmap.
    private func pixels(_ radius: Double) -> Double {
        radius * Double(max(shape.width, shape.height)) / 1000
    }

    /// Returns the picture of one frame, which the caller owns.
    func finish() throws(ImagingError) -> cvips_picture {
        var picture = cvips_picture()
        let status = withExtendedLifetime(self) { cvips_render_finish(render, &picture) }
        try ImageEngine.check(status) {
            .filterFailed(detail: "the pixels could not be computed")
        }
        return picture
    }
}

extension ImageEngine {
    /// Applies filters to every frame; in place if there is one frame and nobody else holds the
    /// bitmap.
    static func render(
        _ filters: [ImageFilter], _ bitmap: consuming Bitmap, _ cancellation: ImagingCancellation?
    ) throws(ImagingError) -> cvips_picture {
        guard bitmap.frames == 1 else { return try renderFrames(filters, bitmap, cancellation) }
        if let picture = Bitmap.takePicture(of: &bitmap) {
            let render = try FilterRender(inPlace: picture, cancellation: cancellation)
            return try result(of: filters, render)
        }
        return try render(filters, bitmap, frame: 0, cancellation)
    }

    private static func renderFrames(
        _ filters: [ImageFilter], _ bitmap: Bitmap, _ cancellation: ImagingCancellation?
    ) throws(ImagingError) -> cvips_picture {
        var result = bitmap.picture
        guard cvips_picture_new(&result) == .ok else { throw .outOfMemory }
        do throws(ImagingError) {
            for frame in 0..<bitmap.frames {
                let filtered = try render(filters, bitmap, frame: frame, cancellation)
                defer { cvips_free(filtered.pixels) }
                let target = cvips_picture_frame(&result, Int32(frame))
                withUnsafePointer(to: filtered) {
                    target.pixels.update(from: filtered.pixels, count: cvips_picture_size($0))
                }
            }
        } catch {
            cvips_free(result.pixels)
            throw error
        }
        return result
    }

    private static func render(
        _ filters: [ImageFilter], _ bitmap: Bitmap, frame: Int,
        _ cancellation: ImagingCancellation?
    ) throws(ImagingError) -> cvips_picture {
        try result(
            of: filters, FilterRender(bitmap, frame: frame, cancellation: cancellation))
    }

    private static func result(
        of filters: [ImageFilter], _ render: FilterRender
    ) throws(ImagingError) -> cvips_picture {
        for filter in filters { try render.append(filter) }
        return try render.finish()
    }
}
#endif
