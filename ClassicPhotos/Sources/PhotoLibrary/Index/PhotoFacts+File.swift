import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

extension PhotoFacts {
    private static let headerLength = 64 << 10
    /// Larger files are not read as a whole.
    private static let longestFile = 64 << 20

    /// Reads what a file says of its photo; nil if the file cannot be opened or read.
    ///
    /// The first 64 KiB are enough for most files. HEIF, WebP and TIFF may have their fields behind
    /// the pixels, so all of such a file is read, up to 64 MiB.
    ///
    /// Call this method on a thread that may block.
    static func read(_ file: LocalFile, within limits: ImageLimits) -> PhotoFacts? {
        guard let status = LocalFiles.status(of: file),
            let start = try? LocalFiles.bytes(of: file, limit: headerLength, named: "")
        else { return nil }
        var header = try? ImageEngine.header(of: start, limits: limits)
        let isPart = start.count == headerLength && status.byteCount > headerLength
        if isPart, status.byteCount <= longestFile, let format = ImageFormat(detecting: start),
            header == nil || !format.beginsWithFields,
            let bytes = try? LocalFiles.bytes(of: file, limit: longestFile, named: "")
        {
            header = (try? ImageEngine.header(of: bytes, limits: limits)) ?? header
        }
        return PhotoFacts(header, byteCount: status.byteCount)
    }
}

extension ImageFormat {
    /// Whether all that describes a photo stands before its pixels, or there is nothing of it.
    fileprivate var beginsWithFields: Bool {
        switch self {
        case .jpeg, .png, .gif, .raw: true
        case .webp, .tiff, .heif, .avif: false
        }
    }
}
