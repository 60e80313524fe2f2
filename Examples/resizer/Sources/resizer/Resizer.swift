import Operations
import PhotoImaging

/// Makes small copies of pictures that strangers send.
///
/// A few kilobytes can describe a picture of gigabytes. So the header is checked first, and the
/// memory that it asks for is reserved before a pixel is decoded.
struct Resizer: Sendable {
    /// Begins as many pictures as there are processors. More would take memory and save no time.
    private let pictures = OperationQueue(name: "pictures")
    /// The memory that all pictures share. One that needs more than all of it is worked on alone.
    private let memory = ConcurrencyBudget(256 << 20, name: "bytes of pixels")
    /// JPEG, PNG, WebP, GIF and TIFF are read. HEIF and AVIF have to be allowed by name.
    private let limits = ImageLimits(maximumPixels: 50_000_000)
    /// The pictures that may wait. Each keeps its file in memory.
    private let capacity = 100

    enum Refusal: Error { case busy }

    /// Makes the copy of a picture that fits into a box.
    ///
    /// - Throws: `ImagingError` if the upload is no picture, or a harmful one; ``Refusal/busy`` or
    ///   `OperationDeadlineExceeded` if too many pictures are in line.
    func resize(
        _ upload: [UInt8], toFit box: PixelSize, as format: ImageFormat
    ) async throws -> EncodedImage {
        // Reads some hundred bytes, which takes less than a millisecond.
        let info = try ImageEngine.inspect(upload, limits: limits)
        let shape = info.shape(fitting: box, keeping: [])
        let need = max(
            ImageEngine.memoryToDecode(info, fitting: box),
            shape.byteCount + ImageEngine.memoryToEncode(shape, as: format))

        let copy = pictures.tryAdd(
            "resize", .cost(min(need, memory.permits), of: memory), .deadline(in: .seconds(10)),
            capacity: capacity
        ) { [limits] in
            // The work may block its thread. It ends within milliseconds when the operation is
            // cancelled, or when the picture has used its processor time.
            let cancellation = ImagingCancellation(processorTime: .seconds(5))
            Operation.current?.onCancel { cancellation.cancel() }
            let bitmap = try ImageEngine.decode(
                upload, fitting: box, limits: limits, cancellation: cancellation)
            return try ImageEngine.encode(bitmap, as: format, cancellation: cancellation)
        }
        guard let copy else { throw Refusal.busy }
        return try await withTaskCancellationHandler {
            try await copy.value
        } onCancel: {
            copy.cancel()
        }
    }
}
