import FoundationEssentials
public import Imaging
public import Operations

/// What work on pixels shares, over all queues that do it: processors and memory.
///
/// ```swift
/// let capacity = PixelCapacity(bytes: 512 << 20)
/// let decode = DecodeOperation(after: download, fitting: size, capacity: capacity)
/// ```
///
/// Each stage that works on pixels takes one of its ``processors`` while it runs, so that there are
/// never more of them at work than that, however many queues there are and whatever they do beside.
/// More would be no faster, and each has a picture in memory. What a picture needs of the
/// ``memory`` is known when its header can be read; whoever adds stages to a queue takes it then:
/// ``DecodeOperation/reserveMemory()`` for one decoding,
/// ``bytesNeeded(for:fitting:filters:format:)`` for all of a photo's way.
///
/// A picture that needs more than there is takes all there is, so it is worked on alone.
public struct PixelCapacity: Sendable {
    /// One for each stage that works at the same time.
    public let processors: ConcurrencyBudget

    /// Bytes of pixels, and of what is needed to make them.
    public let memory: ConcurrencyBudget

    /// Bytes of photos' files, from before they are fetched until they are done with. A part of its
    /// own, because a photo waits for memory while it has its file: with one budget for both, files
    /// could take all of it, and wait for one another.
    let files: ConcurrencyBudget

    /// The one that is used where no other one is given.
    public static let shared = PixelCapacity()

    /// Capacity of its own; all else is shared with ``shared``'s users only by the machine.
    ///
    /// - Parameters:
    ///   - processors: how many stages work at the same time, at least 1; nil for as many as this
    ///     process may use.
    ///   - bytes: how much memory they may take together, files included, at least 1 MiB; nil for a
    ///     quarter of the machine's, at most 1 GiB. Estimates are made from headers. What the
    ///     program needs beside, libvips' code and tables among it, is up to 200 MB.
    public init(processors: Int? = nil, bytes: Int? = nil) {
        let machine = ProcessInfo.processInfo
        let processors = processors ?? machine.activeProcessorCount
        let bytes = bytes ?? min(Int(clamping: machine.physicalMemory / 4), 1 << 30)
        self.processors = ConcurrencyBudget(max(1, processors), name: "processors")
        let files = max(1 << 20, bytes) / 8 * 3
        self.files = ConcurrencyBudget(files, name: "bytes of files")
        memory = ConcurrencyBudget(max(1 << 20, bytes) - files, name: "bytes of pixels")
    }

    /// About how many bytes the stages of one photo take together at most, from its decoding until
    /// its result is written: what decoding takes, then the bitmap, what filtering takes beside it,
    /// and what encoding does.
    ///
    /// - Parameters:
    ///   - info: the photo's header.
    ///   - box: what it is shrunk to fit in; nil for its full size.
    ///   - filters: what is applied.
    ///   - format: what it is written as.
    public static func bytesNeeded(
        for info: ImageInfo, fitting box: PixelSize?, filters: [ImageFilter], format: ImageFormat
    ) -> Int {
        let size = info.size.shrunk(toFit: box)
        let (bitmap, overflows) = size.pixelCount.multipliedReportingOverflow(
            by: info.hasAlpha ? 4 : 3)
        guard !overflows else { return .max }
        let filtering = ImageEngine.memoryToApply(filters, to: size, hasAlpha: info.hasAlpha)
        let encoding = ImageEngine.memoryToEncode(size, hasAlpha: info.hasAlpha, as: format)
        let filtered = filters.isEmpty ? 0 : bitmap
        return max(
            ImageEngine.memoryToDecode(info, fitting: box),
            bitmap + max(filtering, filtered + encoding))
    }

    /// For an operation that works on pixels itself.
    public var processor: OperationTrait { .cost(1, of: processors) }

    /// For an operation that needs so many bytes of ``memory``, or all of it.
    public func memory(_ bytes: Int) -> OperationTrait {
        .cost(max(0, min(bytes, memory.units)), of: memory)
    }

    /// For an operation that has so many bytes of a file, or all there may be.
    func file(_ bytes: Int) -> OperationTrait {
        .cost(max(0, min(bytes, files.units)), of: files)
    }
}
