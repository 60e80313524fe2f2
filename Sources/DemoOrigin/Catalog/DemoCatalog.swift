/// The list that the demo's origin hands out: names, addresses, and what becomes of each.
///
/// Most entries are good. About one in twenty is bad in one of the ways photos on the web are bad,
/// beginning within the first dozen, so that a person sees at once how failures look.
///
/// Equal arguments give equal catalogues; a value, callable from any thread.
public struct DemoCatalog: Sendable, Hashable {
    /// What becomes of a download.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A picture, whole.
        case good
        /// The list misspells the name: 404.
        case missing
        /// A file that stops in the middle of the picture, with a length to match.
        case truncated
        /// A page of HTML under a name that ends in `.jpg`.
        case htmlPage
        /// A connection that closes before the promised length has come.
        case closedMidway
        /// Nothing at all, with status 200.
        case empty
        /// A header that promises 50,000 × 50,000 pixels.
        case hugeHeader
        /// Noise that is no picture of any kind.
        case randomBytes
        /// A good picture that comes in drops.
        case verySlow

        /// Whether a patient client ends up with a picture.
        public var isPicture: Bool { self == .good || self == .verySlow }
    }

    /// One line of the list.
    public struct Entry: Sendable, Hashable, Identifiable {
        /// Its place in the list, from 0.
        public let id: Int
        /// The title that people see; unique in the list.
        public let name: String
        /// What the list says where it is: `/photos/…jpg`, beginning at the origin's root.
        public let path: String
        /// What becomes of the download.
        public let kind: Kind
        /// The picture behind it, even when no download ever shows it.
        public let picture: DemoPicture
    }

    /// The lines, in the order of the list.
    public let entries: [Entry]
    private let places: [String: Int]

    /// Makes a list.
    ///
    /// - Parameters:
    ///   - count: how many lines; negative counts as 0.
    ///   - faults: whether some of them are bad.
    ///   - longestSide: the pictures' longer side in pixels, or `nil` for that of a camera; see
    ///     ``DemoPicture/init(index:longestSide:)``.
    public init(count: Int = 240, faults: Bool = true, longestSide: Int? = nil) {
        let bad = faults ? Self.badPlaces(count: count) : [:]
        entries = (0..<max(count, 0)).map { index in
            let picture = DemoPicture(index: index, longestSide: longestSide)
            let kind = bad[index] ?? .good
            let slug = Self.slug(picture.name)
            return Entry(
                id: index, name: picture.name,
                path: "/photos/\(kind == .missing ? Self.misspelt(slug) : slug).jpg", kind: kind,
                picture: picture)
        }
        places = Dictionary(
            entries.map { ($0.path, $0.id) }, uniquingKeysWith: { first, _ in first })
    }

    /// The line whose address this is, if the list has one.
    public subscript(path path: String) -> Entry? { places[path].map { entries[$0] } }

    /// Which lines are bad: the fifth and the tenth, then one in some 23, each kind in turn.
    private static func badPlaces(count: Int) -> [Int: Kind] {
        let kinds = Kind.allCases.filter { $0 != .good }
        var random = Random(seed: 2015)
        var bad: [Int: Kind] = [:]
        var place = 4
        var turn = 0
        while place < count {
            bad[place] = kinds[turn % kinds.count]
            turn += 1
            place = turn == 1 ? 9 : 9 + (turn - 1) * 22 + random.whole(-4...4)
        }
        return bad
    }

    /// A title as the stem of a file name: lower case letters, digits and hyphens.
    static func slug(_ name: String) -> String {
        var slug = ""
        for byte in name.lowercased().utf8 {
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            if isPlain {
                slug.unicodeScalars.append(Unicode.Scalar(byte))
            } else if !slug.isEmpty, slug.last != "-" {
                slug += "-"
            }
        }
        return slug
    }

    /// The slip of a hurried typist: two neighbouring letters swapped, the first pair that differs.
    static func misspelt(_ slug: String) -> String {
        var letters = Array(slug)
        for place in 1..<max(letters.count - 1, 1)
        where letters[place] != letters[place + 1] && letters[place] != "-"
            && letters[place + 1] != "-"
        {
            letters.swapAt(place, place + 1)
            break
        }
        return String(letters)
    }
}
