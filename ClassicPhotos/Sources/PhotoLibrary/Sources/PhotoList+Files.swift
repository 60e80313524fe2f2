import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PhotoList {
    /// Reads a list, or makes a list of a single picture.
    ///
    /// A file with the extension of a picture is not read. Relative URLs in the list are relative
    /// to its folder. Blocks while reading, so do not call from the main thread or an event loop.
    ///
    /// - Parameters:
    ///   - file: a file URL.
    ///   - name: the name of the file in messages; `nil` for the last component of its path.
    ///   - limits: the limits on the size of the list.
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
        var list = try read(path, file, named: name, limits: limits)
        list.folders = [path.folder ?? .workingFolder]
        return list
    }

    private static func read(
        _ path: LocalPath, _ file: URL, named name: String, limits: PhotoListLimits
    ) throws(PhotoSourceError) -> PhotoList {
        guard
            case .file(let byteCount) = try LocalFiles.kind(
                of: path, followingLinks: true, named: name)
        else {
            throw PhotoSourceError(
                .notReadable, source: name, problem: "this is not a regular file",
                advice: "specify a list or a picture")
        }
        if PictureFiles.isPicture(named: name) {
            return try parse(bytes: [], named: name, relativeTo: file, limits: limits)
        }
        if byteCount > limits.bytes {
            // Not read as a whole, so that a video named by mistake does not fill the memory. But
            // the file may be a picture with an unusual extension.
            let start = try LocalFiles.bytes(
                of: path, limit: ImageFormat.signatureLength, named: name)
            guard PictureFiles.isPicture(start) else { throw .tooManyBytes(name, limits) }
            return try parse(bytes: start, named: name, relativeTo: file, limits: limits)
        }
        let bytes = try LocalFiles.bytes(of: path, named: name)
        return try parse(bytes: bytes, named: name, relativeTo: file, limits: limits)
    }

    /// Finds the pictures in a folder and its subfolders.
    ///
    /// Photos are named by their path in the folder and sorted in natural order. Pictures are
    /// recognized by extension, and files with an unknown extension by their first bytes; decoding
    /// then shows whether a file really is a picture. ``unsupportedFiles`` lists pictures in
    /// unsupported formats. Names need not be UTF-8.
    ///
    /// Hidden files and folders are skipped, and so are the folders in which network storage and
    /// systems keep previews and deleted files, such as `@eaDir`, `#recycle` and `$RECYCLE.BIN`. A
    /// link to a picture inside the folder is included. A link out of the folder is only counted,
    /// unless `followsLinks` is true; then its target is read as if it were in the place of the
    /// link. No folder is entered twice, so the search terminates. An unreadable subfolder becomes
    /// a failed record.
    ///
    /// Blocks while reading, so do not call from the main thread or an event loop.
    ///
    /// - Parameters:
    ///   - folder: a file URL.
    ///   - name: the name of the folder in messages; `nil` for the last component of its path.
    ///   - entersSubfolders: whether to search in subfolders, too.
    ///   - followsLinks: whether to read what links out of the folder lead to. People who can
    ///     write in the folder then choose what is read.
    ///   - limits: the limits on the number of pictures and the depth of nested folders.
    /// - Throws: ``PhotoSourceError``, also if the folder contains no picture.
    public static func read(
        folder: URL, named name: String? = nil, enteringSubfolders entersSubfolders: Bool = true,
        followingLinks followsLinks: Bool = false,
        limits: PhotoListLimits = .standard
    ) throws(PhotoSourceError) -> PhotoList {
        precondition(folder.isFileURL, "A folder at \(folder) cannot be read.")
        let name = name ?? PhotoURL.name(of: folder)
        var reader = try FolderReader(
            folder, named: name, entersSubfolders: entersSubfolders, followsLinks: followsLinks,
            limits: limits)
        let list = try reader.read()
        guard !list.records.isEmpty else { throw reader.noPictures }
        return list
    }

    /// Finds the pictures in a folder whose contents may change; there may be none yet.
    ///
    /// Everything else is as in
    /// ``read(folder:named:enteringSubfolders:followingLinks:limits:)``.
    public static func read(
        changingFolder folder: URL, named name: String?, followingLinks followsLinks: Bool
    ) throws(PhotoSourceError) -> PhotoList {
        let name = name ?? PhotoURL.name(of: folder)
        var reader = try FolderReader(
            folder, named: name, entersSubfolders: true, followsLinks: followsLinks,
            limits: .standard)
        return try reader.read()
    }
}
