public import FoundationEssentials
import Imaging

extension PhotoList {
    /// Reads a list, or makes one of a single picture, whose bytes are then not read.
    ///
    /// Relative URLs in the list are relative to its folder. Blocks while it reads: not for the
    /// main thread or an event loop.
    ///
    /// - Parameters:
    ///   - file: a file URL.
    ///   - name: what the file is called in messages; `nil` for the last part of its path.
    ///   - limits: how large the list may be.
    public static func read(
        file: URL, named name: String? = nil, limits: PhotoListLimits = .standard
    ) throws(PhotoSourceError) -> PhotoList {
        precondition(file.isFileURL, "A list at \(file) has to be fetched before it is parsed.")
        let name = name ?? PhotoURL.name(of: file)
        guard let path = LocalPath(file) else {
            throw PhotoSourceError(
                .notFound, source: name, problem: "there is no such file or folder",
                advice: "check the name")
        }
        guard
            case .file(let byteCount) = try LocalFiles.kind(
                of: path, followingLinks: true, named: name)
        else {
            throw PhotoSourceError(
                .notReadable, source: name, problem: "this is no regular file",
                advice: "name a list or a picture")
        }
        if PictureFiles.isPicture(named: name) {
            return try parse(bytes: [], named: name, relativeTo: file, limits: limits)
        }
        if byteCount > limits.bytes {
            // Not read, so that a film named by mistake does not fill the memory; but it may be a
            // picture whose name does not say so.
            let start = try LocalFiles.bytes(
                of: path, limit: ImageFormat.signatureLength, named: name)
            guard PictureFiles.isPicture(start) else { throw .tooManyBytes(name, limits) }
            return try parse(bytes: start, named: name, relativeTo: file, limits: limits)
        }
        let bytes = try LocalFiles.bytes(of: path, named: name)
        return try parse(bytes: bytes, named: name, relativeTo: file, limits: limits)
    }

    /// Finds the pictures in a folder and in the folders below it.
    ///
    /// Photos are named by their path in the folder and sorted as people sort. Pictures are known
    /// by their extension, and files whose extension says nothing by their first bytes; whether a
    /// file really is a picture turns out when it is decoded. Pictures in formats that are not read
    /// are in ``unreadFiles``. Names need not be UTF-8.
    ///
    /// Hidden files and folders are passed over. A link to a picture inside the folder is taken,
    /// one that leads out is not, and linked folders are not entered, so that nothing is found
    /// twice or for ever. A folder below that cannot be read is a failed record.
    ///
    /// Blocks while it reads: not for the main thread or an event loop.
    ///
    /// - Parameters:
    ///   - folder: a file URL.
    ///   - name: what the folder is called in messages; `nil` for the last part of its path.
    ///   - limits: how many pictures there may be, and how deep folders may be nested.
    /// - Throws: ``PhotoSourceError`` also if there is no picture.
    public static func read(
        folder: URL, named name: String? = nil, limits: PhotoListLimits = .standard
    ) throws(PhotoSourceError) -> PhotoList {
        precondition(folder.isFileURL, "A folder at \(folder) cannot be read.")
        let name = name ?? PhotoURL.name(of: folder)
        var reader = try FolderReader(folder, named: name, limits: limits)
        return try reader.read()
    }
}
