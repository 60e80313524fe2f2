public import Imaging
import Synchronization

/// Where one output file goes.
public struct OutputPath: Sendable, Hashable, CustomStringConvertible {
    /// The folder, without a slash at its end.
    public let folder: String
    /// The file's name in it.
    public let name: String

    var text: String { "\(folder)/\(name)" }
    /// The whole path.
    public var description: String { text }
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

/// Gives every photo of a batch a file name of its own.
///
/// A photo keeps its name, and in a list made of a folder its place below it. Its ending is that of the
/// format it is written in. Two photos that would get the same name, also if only upper and lower case
/// differ, get -2, -3 and so on; nothing is ever written twice to one name.
final class OutputNames: Sendable {
    private let folder: String
    private let taken = Mutex<Set<String>>([])

    init(folder: String) {
        var folder = folder
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        self.folder = folder
    }

    func claim(_ name: String, format: ImageFormat) -> OutputPath {
        var parts = Self.safeParts(of: name)
        let last = Self.stem(of: parts.removeLast())
        let below = ([folder] + parts).joined(separator: "/")
        return taken.withLock { taken in
            var number = 1
            while true {
                let suffix = number == 1 ? "" : "-\(number)"
                let name = "\(last)\(suffix).\(format.fileExtension)"
                if taken.insert("\(below)/\(name)".lowercased()).inserted {
                    return OutputPath(folder: below, name: name)
                }
                number += 1
            }
        }
    }

    /// The parts of a name that may be folders; none leads out, none is hidden or unprintable.
    private static func safeParts(of name: String) -> [String] {
        let parts = name.split(separator: "/").map { part in
            let printable = part.unicodeScalars.map { scalar in
                scalar.properties.generalCategory == .control ? "_" : Character(scalar)
            }
            var text = String(printable).drop { $0 == "." || $0 == " " }
            // File systems allow 255 bytes; some are left for an ending and a number.
            while text.utf8.count > 200 { text.removeLast() }
            return text
        }
        let kept = parts.filter { !$0.isEmpty }.map(String.init)
        return kept.isEmpty ? ["photo"] : kept
    }

    /// The name without the ending of a picture format.
    private static func stem(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        let ending = name[name.index(after: dot)...].lowercased()
        let known = [
            "jpg", "jpeg", "jpe", "png", "webp", "gif", "tif", "tiff", "heic", "heif", "avif",
        ]
        return known.contains(ending) ? String(name[..<dot]) : name
    }
}
