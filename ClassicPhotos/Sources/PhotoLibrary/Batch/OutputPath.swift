public import PhotoImaging
@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The destination of an output file.
public struct OutputPath: Sendable, Hashable, CustomStringConvertible {
    /// The batch's folder.
    let folder: LocalPath
    /// The path inside the folder.
    let relativePath: [UInt8]

    var path: LocalPath { folder.appending(relativePath) }

    /// The file URL, which preserves every byte of the name.
    public var url: URL { path.url }

    /// The folder that contains the file, for display.
    public var enclosingFolder: String? { path.folder?.description }

    /// The full path for display; bytes that are not UTF-8 are escaped, as in `caf\xE9.jpg`.
    public var description: String { path.description }
}

/// An output file that was written.
public struct OutputFile: Sendable, Hashable {
    /// The path of the file.
    public let path: OutputPath
    /// The size of the picture in pixels.
    public let size: PixelSize
    /// The size of the file in bytes.
    public let byteCount: Int
    /// What the file lacks of the photo.
    public var remarks: [PhotoRemark] = []

    init(path: OutputPath, size: PixelSize, byteCount: Int) {
        (self.path, self.size, self.byteCount) = (path, size, byteCount)
    }

    /// A file that another process has written.
    public init(
        path: OutputPath, size: PixelSize, byteCount: Int, remarks: [PhotoRemark]
    ) {
        self.init(path: path, size: size, byteCount: byteCount)
        self.remarks = remarks
    }
}
