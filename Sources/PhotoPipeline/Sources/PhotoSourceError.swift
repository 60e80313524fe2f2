/// Why a source of photos cannot be used at all: what is wrong, where, and what was expected.
///
/// A single wrong entry is no such error: it becomes a failed ``PhotoRecord``, and the list goes on.
public struct PhotoSourceError: Error, Sendable, Hashable {
    /// The sort of problem, for programs; more may come.
    public struct Kind: Sendable, Hashable {
        private let name: String

        /// There is no file or folder of that name.
        public static let notFound = Kind(name: "notFound")
        /// It exists, but cannot be read: permissions, a device, a disk error.
        public static let notReadable = Kind(name: "notReadable")
        /// The argument names a scheme from which nothing can be fetched.
        public static let unsupportedScheme = Kind(name: "unsupportedScheme")
        /// It has the form of a list, with a mistake in its syntax.
        public static let invalidSyntax = Kind(name: "invalidSyntax")
        /// It is something else than a list of photos.
        public static let notAList = Kind(name: "notAList")
        /// It is beyond a limit of ``PhotoListLimits``.
        public static let tooLarge = Kind(name: "tooLarge")
        /// It is fine, and has no photos. A caller who can show an empty list catches this one.
        public static let noPhotos = Kind(name: "noPhotos")
    }

    /// The part of the source that is wrong.
    public enum Place: Sendable, Hashable {
        /// A line, counted from 1.
        case line(Int)
        /// A key of a dictionary, where lines do not exist.
        case key(String)
        /// An entry of an array, counted from 1, where lines do not exist.
        case entry(Int)
    }

    /// The sort of problem.
    public let kind: Kind
    /// The file, folder or address, as a person named it.
    public let source: String
    /// The part of it that is wrong; `nil` if that is the whole.
    public let place: Place?
    /// What is wrong.
    public let problem: String
    /// What was expected, or what to do.
    public let advice: String

    /// Makes an error.
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
