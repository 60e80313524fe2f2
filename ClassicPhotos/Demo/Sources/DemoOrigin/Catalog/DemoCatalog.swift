public import Landscapes

/// The list served by the demo's origin: the name, the address and the behavior of each entry.
///
/// Most entries are good. About one in twenty is bad in a way that is common on the web. The first
/// bad entries are within the first dozen, so that a person sees early what failures look like.
///
/// Equal arguments give equal catalogs. Catalogs are values; call from any thread.
public struct DemoCatalog: Sendable, Hashable {
    /// The behavior of a download.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A complete picture.
        case good
        /// The list misspells the name, so the response is 404.
        case missing
        /// A file that ends in the middle of the picture; the declared length matches.
        case truncated
        /// A page of HTML under a name that ends in `.jpg`.
        case htmlPage
        /// A connection that closes before the declared length has been sent.
        case closedMidway
        /// An empty response with status 200.
        case empty
        /// A header that claims 50,000 × 50,000 pixels.
        case hugeHeader
        /// Noise that is not a picture in any format.
        case randomBytes
        /// A good picture that arrives in small pieces.
        case verySlow

        /// Whether a patient client eventually gets a picture.
        public var isPicture: Bool { self == .good || self == .verySlow }

        /// What the title says of the entry, so that a person does not take it for a fault of the
        /// program.
        var remark: String {
            switch self {
            case .good: ""
            case .verySlow: " (slow on purpose)"
            case .missing, .truncated, .htmlPage, .closedMidway, .empty, .hugeHeader, .randomBytes:
                " (broken on purpose)"
            }
        }
    }

    /// One entry of the list.
    public struct Entry: Sendable, Hashable, Identifiable {
        /// The index in the list, from 0.
        public let id: Int
        /// The title for display; unique in the list. The title of a bad entry says that the entry
        /// is bad on purpose.
        public let name: String
        /// The path in the list, starting at the origin's root: `/photos/…jpg`.
        public let path: String
        /// The behavior of the download.
        public let kind: Kind
        /// The picture of the entry, even if no download ever returns it.
        public let picture: Landscape
    }

    /// The entries, in list order.
    public let entries: [Entry]
    private let places: [String: Int]

    /// Creates a list.
    ///
    /// - Parameters:
    ///   - count: the number of entries; a negative number counts as 0.
    ///   - faults: whether to include bad entries.
    ///   - longestSide: the pictures' longer side in pixels, or `nil` for the size of a camera
    ///     picture; see `Landscape.init(index:longestSide:)`.
    public init(count: Int = 240, faults: Bool = true, longestSide: Int? = nil) {
        let bad = faults ? Self.badPlaces(count: count) : [:]
        entries = (0..<max(count, 0)).map { index in
            let picture = Landscape(index: index, longestSide: longestSide)
            let kind = bad[index] ?? .good
            let slug = Self.slug(picture.name)
            return Entry(
                id: index, name: picture.name + kind.remark,
                path: "/photos/\(kind == .missing ? Self.misspelt(slug) : slug).jpg", kind: kind,
                picture: picture)
        }
        places = Dictionary(
            entries.map { ($0.path, $0.id) }, uniquingKeysWith: { first, _ in first })
    }

    /// The entry with the given path, if there is one.
    public subscript(path path: String) -> Entry? { places[path].map { entries[$0] } }

    /// The positions of bad entries: the fifth and the tenth, then about one in 23, each kind in
    /// turn.
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

    /// A title as the stem of a file name: lowercase letters, digits and hyphens.
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

    /// A typical typing error: swaps the first pair of neighboring letters that differ.
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
