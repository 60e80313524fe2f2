#if PhotoPipeline
/// The reason why a file or folder cannot be used at all: the problem, its place, and the expected
/// form.
public struct PhotoSourceError: Error, Sendable, Hashable {
    /// The kind of problem, for programs; later versions may add kinds.
    public struct Kind: Sendable, Hashable {
        private let name: String

        /// No file or folder of that name exists.
        public static let notFound = Kind(name: "notFound")
        /// The source exists but cannot be read: permissions, a device, or a disk error.
        public static let notReadable = Kind(name: "notReadable")
        /// The argument has a scheme that downloads do not support.
        public static let unsupportedScheme = Kind(name: "unsupportedScheme")
        /// The source has the form of a list, but contains a syntax error.
        public static let invalidSyntax = Kind(name: "invalidSyntax")
        /// The source is not a list of photos.
        public static let notAList = Kind(name: "notAList")
        /// The source exceeds a limit.
        public static let tooLarge = Kind(name: "tooLarge")
        /// The source is valid but has no photos; catch this error to accept an empty list.
        public static let noPhotos = Kind(name: "noPhotos")
    }

    /// The part of the source that has the problem.
    public enum Place: Sendable, Hashable {
        /// A line, counted from 1.
        case line(Int)
        /// A key of a dictionary, for formats without lines.
        case key(String)
        /// An entry of an array, counted from 1, for formats without lines.
        case entry(Int)
    }

    /// The kind of problem.
    public let kind: Kind
    /// The file, folder or address, as the person named it.
    public let source: String
    /// The part of the source that has the problem; `nil` for the whole source.
    public let place: Place?
    /// The problem.
    public let problem: String
    /// The expected form, or what to do.
    public let advice: String

    /// Creates an error.
    public init(
        _ kind: Kind, source: String, place: Place? = nil, problem: String, advice: String
    ) {
        self.kind = kind
        self.source = source
        self.place = place
        self.problem = problem
        self.advice = advice
    }
}

extension PhotoSourceError: CustomStringConvertible {
    /// The whole message, on one line: `photos.plist, line 12: problem; advice`.
    public var description: String {
        let place = place.map { ", \($0)" } ?? ""
        return "\(source)\(place): \(problem); \(advice)"
    }
}

extension PhotoSourceError.Place: CustomStringConvertible {
    /// The place in words.
    public var description: String {
        switch self {
        case .line(let number): "line \(number)"
        case .key(let key): "key \(quoted(key))"
        case .entry(let number): "entry \(number)"
        }
    }
}
#endif
