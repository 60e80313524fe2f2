/// What a list's file says, before anybody asks whether it makes sense.
///
/// The readers of the three formats all produce this. They are our own for what the decoders of
/// FoundationEssentials (Swift 6.3) do not give: JSON errors have no line there and property list
/// errors always say line 1, a property list of twenty thousand nested arrays overflows the stack,
/// the order of entries is lost, and a binary list whose entries all point to one huge dictionary
/// costs quadratic time. None of the readers knows entities, external or other.
enum ListValue: Equatable {
    case text(String)
    case array([Element])
    case dictionary([Member])
    /// A value that no list of photos has, by its name in messages, as in "a number".
    case other(String)

    struct Element: Equatable {
        /// Where the element begins; `nil` in a binary property list.
        let line: Int?
        let value: ListValue
    }

    /// Members keep the order of the file, and all of those that share a key.
    struct Member: Equatable {
        let key: String
        /// Where the key begins; `nil` in a binary property list.
        let line: Int?
        let value: ListValue
    }

    /// What it is, for messages.
    var kindName: String {
        switch self {
        case .text: "a text"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case .other(let name): name
        }
    }
}

/// A mistake in a list's syntax, or its being beyond a limit.
struct ListSyntaxError: Error, Equatable {
    let kind: PhotoSourceError.Kind
    let line: Int?
    let problem: String
    let advice: String
}
