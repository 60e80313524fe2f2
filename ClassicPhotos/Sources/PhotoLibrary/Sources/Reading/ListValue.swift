@_spi(ClassicPhotos) import PhotoPipeline

/// The raw values of a list's file, before their meaning is checked.
///
/// The readers of all three formats produce this type. We use our own readers because the decoders
/// of FoundationEssentials (Swift 6.3) fall short: JSON errors have no line, property list errors
/// always report line 1, a property list of twenty thousand nested arrays overflows the stack, the
/// order of entries is lost, and a binary list whose entries all point to one huge dictionary takes
/// quadratic time. Our readers do not support entities, external or otherwise.
enum ListValue: Equatable {
    case text(String)
    case array([Element])
    case dictionary([Member])
    /// A value that lists of photos do not use, under its name in messages, such as "a number".
    case other(String)

    struct Element: Equatable {
        /// The line where the element starts; `nil` in a binary property list.
        let line: Int?
        let value: ListValue
    }

    /// A member of a dictionary. Members keep the order of the file, including members with equal
    /// keys.
    struct Member: Equatable {
        let key: String
        /// The line where the key starts; `nil` in a binary property list.
        let line: Int?
        let value: ListValue
    }

    /// The kind of the value, for messages.
    var kindName: String {
        switch self {
        case .text: "a string"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .other(let name): name
        }
    }
}

/// A syntax error in a list, or a list that exceeds a limit.
struct ListSyntaxError: Error, Equatable {
    let kind: PhotoSourceError.Kind
    let line: Int?
    let problem: String
    let advice: String
}
