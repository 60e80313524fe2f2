import FoundationEssentials

/// The few questions that sources ask the disk, with errors that say what a person should do.
enum LocalFiles {
    enum Kind: Equatable {
        case folder
        case file(byteCount: Int)
        case link
        case other
    }

    /// What lies at a place; links are not followed.
    static func kind(of url: URL, named name: String) throws(PhotoSourceError) -> Kind {
        do {
            let path = url.path(percentEncoded: false)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            switch attributes[.type] as? FileAttributeType {
            case .typeDirectory: return .folder
            case .typeSymbolicLink: return .link
            case .typeRegular:
                let size = attributes[.size] as? any BinaryInteger
                return .file(byteCount: size.flatMap { Int(exactly: $0) } ?? 0)
            default: return .other
            }
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }

    /// The names in a folder, in no order.
    static func names(in folder: URL, named name: String) throws(PhotoSourceError) -> [String] {
        do {
            let path = folder.path(percentEncoded: false)
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }

    /// The bytes of a file.
    static func bytes(of file: URL, named name: String) throws(PhotoSourceError) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: file))
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }

    /// The first bytes of a file that may be too large to be read.
    static func firstBytes(
        _ count: Int, of file: URL, named name: String
    ) throws(PhotoSourceError) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: file, options: .mappedIfSafe).prefix(count))
        } catch {
            throw PhotoSourceError(reading: name, error)
        }
    }
}

extension PhotoSourceError {
    /// The error of a failed look at the disk.
    fileprivate init(reading source: String, _ error: any Error) {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile?, .fileNoSuchFile?:
            self.init(
                .notFound, source: source, problem: "there is no such file or folder",
                advice: "check the name")
        case .fileReadNoPermission?:
            self.init(
                .notReadable, source: source, problem: "reading it is not permitted",
                advice: "check its permissions")
        default:
            self.init(
                .notReadable, source: source, problem: "it cannot be read",
                advice: "check the disk")
        }
    }
}
