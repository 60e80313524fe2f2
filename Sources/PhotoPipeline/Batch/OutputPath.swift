public import FoundationEssentials
public import Imaging

/// Where one output file goes.
public struct OutputPath: Sendable, Hashable, CustomStringConvertible {
    /// The batch's folder.
    let folder: LocalPath
    /// The path in it.
    let below: [UInt8]

    var path: LocalPath { folder.appending(below) }

    /// The file URL, which has every byte of the name.
    public var url: URL { path.url }

    /// The whole path, for people: bytes that are not UTF-8 are escaped, as in `caf\xE9.jpg`.
    public var description: String { path.description }
}

/// A file that was written.
public struct OutputFile: Sendable, Hashable {
    /// Where it is.
    public let path: OutputPath
    /// How large the picture is.
    public let size: PixelSize
    /// How large the file is.
    public let byteCount: Int
}
