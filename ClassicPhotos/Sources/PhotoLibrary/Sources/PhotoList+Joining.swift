import PhotoImaging

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

extension PhotoList {
    /// Joins several lists, in order.
    ///
    /// A photo that an earlier list contains already is left out of later lists. Photos of a list
    /// with a prefix get the prefix and a slash before their names, so that the files of several
    /// folders stay apart.
    public static func joining(_ lists: [(prefix: String?, list: PhotoList)]) -> PhotoList {
        guard lists.count > 1 else { return lists.first?.list ?? PhotoList(records: []) }
        var records: [PhotoRecord] = []
        var known: Set<String> = []
        for (prefix, list) in lists {
            let new = list.records.filter { record in
                record.url.map { !known.contains($0.absoluteString) } ?? true
            }
            known.formUnion(list.records.compactMap { $0.url?.absoluteString })
            records += new.map { record in prefix.map { record.prefixed($0) } ?? record }
        }
        return PhotoList(
            records: records,
            skippedFileCount: lists.reduce(0) { $0 + $1.list.skippedFileCount },
            unsupportedFiles: lists.flatMap(\.list.unsupportedFiles),
            outwardLinkCount: lists.reduce(0) { $0 + $1.list.outwardLinkCount },
            folders: lists.flatMap(\.list.folders))
    }

    /// Leaves out the photos whose names match a pattern, as a shell's `*`, `?` and `[a-z]`.
    ///
    /// A pattern without a slash is compared with each part of a name, so `raw` excludes a folder
    /// and `*.gif` excludes files in all folders. A pattern with a slash is compared with the whole
    /// name, and with the folders at its start.
    public func excluding(_ patterns: [String]) -> PhotoList {
        let patterns = patterns.map { pattern in
            pattern.hasSuffix("/") ? String(pattern.dropLast()) : pattern
        }
        guard !patterns.isEmpty else { return self }
        return PhotoList(
            records: records.filter { !$0.matches(patterns) }, skippedFileCount: skippedFileCount,
            unsupportedFiles: unsupportedFiles, outwardLinkCount: outwardLinkCount,
            folders: folders)
    }
}

extension PhotoList {
    /// Leaves out the photos that are raw files according to their names.
    public func excludingRawFiles() -> PhotoList {
        PhotoList(
            records: records.filter { !$0.isRawFile }, skippedFileCount: skippedFileCount,
            unsupportedFiles: unsupportedFiles, outwardLinkCount: outwardLinkCount,
            folders: folders)
    }
}

extension PhotoRecord {
    /// Whether the name, or the file in the address, has the extension of a raw file.
    var isRawFile: Bool {
        let names = [nameBytes ?? Array(name.utf8), Array((url?.lastPathComponent ?? "").utf8)]
        return names.contains {
            PictureFiles.fileExtension(of: $0).flatMap { ImageFormat(fileExtension: $0) } == .raw
        }
    }

    fileprivate func prefixed(_ prefix: String) -> PhotoRecord {
        guard let url else { return self }
        let bytes = nameBytes.map { Array(prefix.utf8) + [UInt8(ascii: "/")] + $0 }
        var record = PhotoRecord(id: id, name: "\(prefix)/\(name)", nameBytes: bytes, url: url)
        record.folder = folder
        return record
    }

    fileprivate func matches(_ patterns: [String]) -> Bool {
        let parts = name.split(separator: "/").map(String.init)
        return patterns.contains { pattern in
            pattern.contains("/")
                ? parts.indices.contains { fits(parts[...$0].joined(separator: "/"), pattern) }
                : parts.contains { fits($0, pattern) }
        }
    }

    private func fits(_ text: String, _ pattern: String) -> Bool {
        fnmatch(pattern, text, FNM_PATHNAME) == 0
    }
}
