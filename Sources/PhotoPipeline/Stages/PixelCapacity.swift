#if PhotoPipeline
public import PhotoImaging
public import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The processors and the memory that pixel work shares across all queues.
///
/// ```swift
/// var options = PhotoLoader.Options()
/// options.capacity = PixelCapacity(bytes: 512 << 20)
/// ```
///
/// Each pixel stage takes one of the ``processors`` while it runs. So there are never more
/// simultaneous stages than processors, however many queues there are and whatever else they run.
/// More stages would not be faster, and each stage keeps a picture in memory.
///
/// The ``memory`` that a picture needs is known once its header can be read. A ``PhotoLoader``
/// takes the memory of each stage then. A program that decodes, filters and encodes in one
/// operation takes as much as ``bytesNeeded(for:fitting:filters:format:keeping:)`` says.
///
/// Take memory and a processor at once, with two traits of one operation, and hold neither while
/// another operation waits for the other one. The operation then stands in both lines, and holds
/// nothing until it has both. An operation that held memory and waited for a processor would stand
/// behind one that waits for that memory, both for ever.
///
/// A picture that needs more memory than the budget takes the whole budget, so it is processed
/// alone.
public struct PixelCapacity: Sendable {
    /// The budget of processors, with one unit for each simultaneous stage.
    public let processors: ConcurrencyBudget

    /// The budget of memory for pixels and for their computation, in bytes.
    public let memory: ConcurrencyBudget

    /// The budget of memory for photo files, in bytes, held from before a download until the file
    /// is no longer needed. Files need a separate budget, because a photo waits for pixel memory
    /// while it holds its file. With one budget for both, files could take all of it and deadlock.
    let files: ConcurrencyBudget

    /// The default capacity.
    public static let shared = PixelCapacity()

    /// Creates a capacity that shares no budget with ``shared``, only the machine.
    ///
    /// - Parameters:
    ///   - processors: the maximum number of simultaneous stages, at least 1; nil for the number of
    ///     processors available to this process.
    ///   - bytes: the maximum memory of all stages, including files, at least 1 MiB; nil for a
    ///     quarter of the memory that this process may use, at most 1 GiB. The estimates come from
    ///     headers. The program itself, including libvips' code and tables, needs up to 200 MB in
    ///     addition.
    public init(processors: Int? = nil, bytes: Int? = nil) {
        let processors = processors ?? ProcessInfo.processInfo.activeProcessorCount
        let bytes = bytes ?? min(MachineMemory.available / 4, 1 << 30)
        self.processors = ConcurrencyBudget(max(1, processors), name: "processors")
        let files = max(1 << 20, bytes) / 8 * 3
        self.files = ConcurrencyBudget(files, name: "bytes of files")
        memory = ConcurrencyBudget(max(1 << 20, bytes) - files, name: "bytes of pixels")
    }

    /// The approximate maximum number of bytes that all stages of one photo use, from decoding
    /// until the result is written.
    ///
    /// The estimate covers decoding, then the bitmap, which is filtered in place, the extra buffers
    /// of filtering, and encoding.
    ///
    /// - Parameters:
    ///   - info: the photo's header.
    ///   - box: the box that the photo is shrunk to fit; nil for its full size.
    ///   - filters: the filters to apply.
    ///   - format: the output format.
    ///   - parts: what decoding keeps.
    public static func bytesNeeded(
        for info: ImageInfo, fitting box: PixelSize?, filters: [ImageFilter], format: ImageFormat,
        keeping parts: PictureParts = []
    ) -> Int {
        let shape = info.shape(fitting: box, keeping: parts)
        let filtering = ImageEngine.memoryToApply(filters, to: shape, inPlace: true)
        let encoding = ImageEngine.memoryToEncode(shape, as: format)
        // The counts are limited so far below the largest integer that their sums do not overflow.
        return max(
            ImageEngine.memoryToDecode(info, fitting: box, keeping: parts),
            shape.byteCount + max(filtering, encoding))
    }

    /// The trait for an operation that does pixel work itself.
    public var processor: OperationTrait { .cost(1, of: processors) }

    /// The trait for an operation that needs the given bytes of ``memory``, or all of it.
    public func memory(_ bytes: Int) -> OperationTrait {
        .cost(max(0, min(bytes, memory.permits)), of: memory)
    }

    /// The trait for an operation that holds the given bytes of a file, or the whole budget.
    @_spi(ClassicPhotos) public func file(_ bytes: Int) -> OperationTrait {
        .cost(max(0, min(bytes, files.permits)), of: files)
    }
}
#endif
