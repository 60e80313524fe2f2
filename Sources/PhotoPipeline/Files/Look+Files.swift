#if PhotoPipeline
public import PhotoImaging

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Look {
    /// Reads a `.cube` file, as `Look(cube:)` does with its bytes; blocks while reading.
    ///
    /// - Parameters:
    ///   - file: the file, which has the scheme `file`.
    ///   - name: the name of the file in messages; nil for its path.
    /// - Throws: the problem, with the number of the line if the file is not a look.
    public init(contentsOf file: URL, named name: String? = nil) throws(PhotoSourceError) {
        let name = name ?? file.path(percentEncoded: false)
        guard let path = LocalPath(file) else {
            throw PhotoSourceError(
                .notFound, source: name, problem: "it is not a file on this machine",
                advice: "use the path of a file")
        }
        let kind = try LocalFiles.kind(of: path, followingLinks: true, named: name)
        guard case .file(let byteCount) = kind else {
            throw PhotoSourceError(
                .notReadable, source: name, problem: "it is not a regular file",
                advice: "use the path of a .cube file")
        }
        guard byteCount <= Self.maximumByteCount else {
            throw PhotoSourceError(
                .tooLarge, source: name,
                problem: "it is larger than \(Self.maximumByteCount >> 20) MiB",
                advice: "export the look with fewer entries")
        }
        // A file that has grown since is read up to the limit.
        let bytes = try LocalFiles.bytes(of: path, limit: Self.maximumByteCount, named: name)
        do throws(ImagingError) {
            try self.init(cube: bytes)
        } catch .invalidLook(let line, let problem) {
            throw PhotoSourceError(
                .invalidSyntax, source: name, place: .line(line), problem: problem,
                advice: "export the look again as a .cube file")
        } catch {
            throw PhotoSourceError(
                .notReadable, source: name, problem: "it cannot be read",
                advice: "export the look again as a .cube file")
        }
    }
}
#endif
