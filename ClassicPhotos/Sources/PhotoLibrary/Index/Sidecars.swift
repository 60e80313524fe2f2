@_spi(ClassicPhotos) import PhotoPipeline

/// The files with XMP that programs put beside photos: `a.xmp` and `a.jpg.xmp` for `a.jpg`.
///
/// The second name belongs to one photo only, so what it says counts more. The names in each folder
/// are read once, because most photos have no such files.
struct Sidecars {
    /// The sidecars of one photo.
    struct OfPhoto {
        /// The files; a later one counts more.
        var files: [LocalFile] = []
        /// Changes whenever one of the files does; 0 without files.
        var version: UInt64 = 0
    }

    /// The real names in each folder, by the names in lower case.
    private var names: [LocalPath: [[UInt8]: [UInt8]]] = [:]

    private static let suffix = Array(".xmp".utf8)

    /// The sidecars beside a file.
    mutating func of(_ file: LocalFile) -> OfPhoto {
        var result = OfPhoto()
        guard let folder = file.path.folder ?? (file.folder == nil ? .workingFolder : nil) else {
            return result
        }
        let names = names(in: folder)
        guard !names.isEmpty else { return result }
        let own = Self.lowercased(file.path.name)
        let stem = own.lastIndex(of: UInt8(ascii: ".")).map { own[..<$0] } ?? own[...]
        for name in [stem + Self.suffix, own + Self.suffix] {
            guard let name = names[Array(name)] else { continue }
            let sidecar = LocalFile(folder.appending(name), in: file.folder)
            guard let status = sidecar.status, status.isRegularFile else { continue }
            let key = PhotoFileKey(status)
            let text =
                "\(result.files.count) \(key.place.inode) \(key.byteCount) "
                + "\(key.modified.seconds) \(key.modified.nanoseconds)"
            result.version = max(1, fnv1a(name + Array(text.utf8), after: ~result.version))
            result.files.append(sidecar)
        }
        return result
    }

    private mutating func names(in folder: LocalPath) -> [[UInt8]: [UInt8]] {
        if let known = names[folder] { return known }
        var found: [[UInt8]: [UInt8]] = [:]
        for name in (try? LocalFiles.names(in: folder, named: "")) ?? [] {
            let lower = Self.lowercased(name)
            guard lower.count > Self.suffix.count, lower.suffix(4).elementsEqual(Self.suffix)
            else { continue }
            found[lower] = name
        }
        names[folder] = found
        return found
    }

    private static func lowercased(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
