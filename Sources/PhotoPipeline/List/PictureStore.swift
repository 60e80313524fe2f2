#if PhotoPipeline
import PhotoImaging

/// A picture and its name, which follows from the contents: equal pictures of all pages and runs
/// have one name, so a browser that has the picture need not transfer it again.
struct NamedPicture: Sendable {
    let image: EncodedImage
    let name: String

    /// - Complexity: O(n) in the number of bytes.
    init(_ image: EncodedImage) {
        self.image = image
        name = fnv1a(image.bytes).hexadecimalDigits
    }
}

/// The pictures of a list's rows, up to a number of bytes; drops the least recently shown first.
struct PictureStore {
    /// The pictures of a row.
    struct Pictures {
        /// The photo with its pixels, kept until they have been filtered.
        var photo: Photo?
        var downloaded: NamedPicture?
        var filtered: NamedPicture?
        /// The attempt that made the filtered picture.
        var generation: Generation?

        var byteCount: Int {
            (photo?.bitmap.byteCount ?? 0) + (downloaded?.image.bytes.count ?? 0)
                + (filtered?.image.bytes.count ?? 0)
        }
    }

    private var rows: [Row: Pictures] = [:]
    private var lastUses: [Row: Int] = [:]
    /// The uses in chronological order; only the last use of a row counts.
    private var uses: ArraySlice<(row: Row, use: Int)> = []
    private var use = 0
    private var byteCount = 0
    private let byteLimit: Int

    init(byteLimit: Int) {
        self.byteLimit = byteLimit
    }

    subscript(row: Row) -> Pictures? { rows[row] }

    /// Changes the pictures of a row and returns the other rows that were evicted to stay within
    /// the limit.
    ///
    /// - Parameter kept: rows that are visible and must not be evicted.
    mutating func update(
        _ row: Row, keeping kept: Set<Row>, _ change: (inout Pictures) -> Void
    ) -> [Row] {
        var pictures = rows[row] ?? Pictures()
        byteCount -= pictures.byteCount
        change(&pictures)
        byteCount += pictures.byteCount
        rows[row] = pictures
        touch(row)
        return evict { $0 == row || kept.contains($0) }
    }

    /// Marks a row as used now.
    mutating func touch(_ row: Row) {
        guard rows[row] != nil else { return }
        use += 1
        lastUses[row] = use
        uses.append((row, use))
        // Stale entries are normally dropped in turn. But a list that is touched and never full
        // would collect them without this step.
        if uses.count > 2 * rows.count + 1_000 {
            let current = lastUses
            uses = uses.filter { current[$0.row] == $0.use }[...]
        }
    }

    mutating func remove(_ row: Row) {
        byteCount -= rows.removeValue(forKey: row)?.byteCount ?? 0
        lastUses[row] = nil
    }

    mutating func removeAll() {
        self = PictureStore(byteLimit: byteLimit)
    }

    /// Evicts the least recently used rows until the pictures fit the limit.
    private mutating func evict(except isKept: (Row) -> Bool) -> [Row] {
        var evicted: [Row] = []
        var kept: [(row: Row, use: Int)] = []
        while byteCount > byteLimit, let oldest = uses.popFirst() {
            guard lastUses[oldest.row] == oldest.use else { continue }
            if isKept(oldest.row) {
                kept.append(oldest)
            } else {
                remove(oldest.row)
                evicted.append(oldest.row)
            }
        }
        if !kept.isEmpty { uses = (kept + uses)[...] }
        return evicted
    }
}
#endif
