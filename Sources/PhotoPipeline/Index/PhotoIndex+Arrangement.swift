#if PhotoPipeline
import PhotoImaging

/// How a page shows photos that lie in a folder: their order, their proportions and their sections.
@_spi(ClassicPhotos) public struct PhotoArrangement: Sendable, Hashable {
    /// Photos that follow each other, under one heading.
    public struct Section: Sendable, Hashable {
        /// The month as `2015-04`, or the path of the folder; empty for photos without a time, and
        /// for those that lie in no subfolder.
        public let name: String
        /// The number of photos.
        public let count: Int
    }

    /// The rows in the order in which they are shown.
    public let rows: [Int]
    /// The width of each photo in thousandths of its height, in the same order; 0 if it is unknown.
    public let shapes: [Int]
    /// The sections in their order; empty if the photos need no headings.
    public let sections: [Section]
}

extension PhotoIndex {
    /// Arranges rows that ``rows(of:matching:sortedBy:in:states:)`` has found.
    ///
    /// Photos in the order of time are in sections by month. In the order of names, the photos of
    /// each folder stand together, and each folder is a section if there is more than one.
    ///
    /// - Complexity: O(n), and O(f log f) in the number of folders.
    @_spi(ClassicPhotos) public func arrangement(
        of rows: [Int], in contents: PhotoCatalog.Contents, sortedBy key: SortKey
    ) -> PhotoArrangement {
        var rows = rows
        var sections: [PhotoArrangement.Section] = []
        switch key {
        case .date:
            let seconds = seconds(of: contents)
            sections = Self.sections(of: rows) { seconds($0).map(month(ofSeconds:)) ?? "" }
        case .list, .name:
            let folders = Dictionary(grouping: rows) { folder(of: contents.records[$0].name) }
            let order = folders.keys.map { (path: $0, parts: $0.split(separator: "/")) }
                .map { (path: $0.path, parts: $0.parts.map { NaturalOrder(String($0)) }) }
                .sorted { $0.parts.lexicographicallyPrecedes($1.parts) }
                .map(\.path)
            guard order != [""] else { break }
            rows = order.flatMap { folders[$0] ?? [] }
            sections = order.map { .init(name: $0.onOneLine, count: folders[$0]?.count ?? 0) }
        case .size, .state: break
        }
        let shapes = facts(of: rows.map { contents.records[$0].id }).map { facts in
            facts?.size.map { max(1, 1_000 * $0.width / max(1, $0.height)) } ?? 0
        }
        return PhotoArrangement(rows: rows, shapes: shapes, sections: sections)
    }

    private static func sections(
        of rows: [Int], named name: (Int) -> String
    ) -> [PhotoArrangement.Section] {
        var sections: [(name: String, count: Int)] = []
        for row in rows {
            let name = name(row)
            if sections.last?.name == name {
                sections[sections.count - 1].count += 1
            } else {
                sections.append((name, 1))
            }
        }
        return sections.map { .init(name: $0.name, count: $0.count) }
    }
}

/// The folders in the path of a photo; empty without any.
private func folder(of name: String) -> String {
    name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[..<$0]) } ?? ""
}

/// The month of a time in seconds since the beginning of 1970, as `2015-04`.
///
/// The calendar is computed from March on, so that the leap day is the last day of a year; see
/// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
func month(ofSeconds seconds: Int) -> String {
    let (day, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
    // Days since the first of March of the year 0.
    let days = day - (rest < 0 ? 1 : 0) + 719_468
    guard days >= 0 else { return "" }
    let dayOfEra = days % 146_097
    let yearOfEra =
        (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = days / 146_097 * 400 + yearOfEra + (month >= 10 ? 1 : 0)
    func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(year, 4))-\(digits(month < 10 ? month + 3 : month - 9, 2))"
}
#endif
