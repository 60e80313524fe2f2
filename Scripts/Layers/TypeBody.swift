/// The members that the declaration of a type lists itself, read from its text.
///
/// The index says where a type is declared, but not which of its properties are stored.
struct TypeBody {
    /// The first lines of the members.
    private let members: [Substring]

    /// - Parameter declared: a type that is declared at the outermost level of its file.
    init(_ declared: Index.Declaration) {
        let first = declared.line - 1
        members = lines(of: declared.file)[first...].prefix { $0 != "}" }.filter { line in
            line.hasPrefix("    ") && line.dropFirst(4).first?.isLetter == true
        }
    }

    /// The properties that a value of the type has room for.
    var storedPropertyCount: Int {
        members.count { line in
            let words = line.split(separator: " ")
            guard let keyword = words.firstIndex(where: { $0 == "var" || $0 == "let" }),
                words[..<keyword].allSatisfy(Self.isModifier)
            else { return false }
            return !line.hasSuffix("{") && !line.hasSuffix("}") || line.contains("didSet")
        }
    }

    /// The functions and properties that a subclass in the module can override, and others cannot.
    var overridableCount: Int {
        members.count { line in
            let words = line.split(separator: " ")
            guard let keyword = words.firstIndex(where: { $0 == "func" || $0 == "var" }) else {
                return false
            }
            // What is stored is not overridden.
            guard words[keyword] == "func" || line.hasSuffix("{") || line.hasSuffix("}") else {
                return false
            }
            return words[..<keyword].allSatisfy { $0.hasPrefix("nonisolated") }
        }
    }

    private static func isModifier(_ word: Substring) -> Bool {
        word.hasPrefix("private") || word.hasPrefix("fileprivate")
            || ["final", "weak", "package", "public", "unowned(unsafe)"].contains(word)
    }
}
