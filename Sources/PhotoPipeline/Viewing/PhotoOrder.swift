#if PhotoPipeline
import Foundation
import Synchronization

/// Finds and sorts the photos of a list.
///
/// Names are prepared once, and the sizes and times of local files are read once, at the first call
/// that needs them. All methods are thread-safe; the first call for a long list takes up to a
/// second, so call on a thread that may block.
public final class PhotoOrder: Sendable {
    /// The keys by which photos are sorted.
    public enum Key: String, Sendable, CaseIterable {
        /// The order of the list itself.
        case list
        /// By name as people do it: photo2 before photo10.
        case name
        /// By the time of the exposure, otherwise of the file's last change; the latest first.
        case date
        /// By the size of the file; the largest first.
        case size
        /// Failed photos first, then new, downloaded and filtered ones.
        case state
    }

    private struct FileFacts {
        let byteCount: Int?
        let seconds: Int?
    }

    private struct Prepared {
        /// The names without case and accents.
        var names: [String]?
        var placesByName: [Int]?
        var files: [FileFacts]?
    }

    /// The photos in the order of the list, and their rows.
    private let records: [PhotoRecord]
    private let rows: [Int]
    private let facts: PhotoFactTable
    private let dates: PhotoDates?
    private let prepared = Mutex(Prepared())

    /// - Parameters:
    ///   - records: the list; rows are indices in it.
    ///   - facts: the facts of downloaded photos.
    public init(records: [PhotoRecord], facts: PhotoFactTable) {
        self.records = records
        rows = Array(records.indices)
        self.facts = facts
        dates = nil
    }

    /// Finds and sorts the photos of a catalog, whose rows are the results.
    ///
    /// - Parameter dates: the times of exposure of the files; wait for them before photos are
    ///   sorted by date.
    @_spi(ClassicPhotos) public init(
        contents: PhotoCatalog.Contents, facts: PhotoFactTable, dates: PhotoDates
    ) {
        self.dates = dates
        rows = contents.rows
        records = rows.map { contents.records[$0] }
        self.facts = facts
    }

    /// The rows whose names contain a text, in an order.
    ///
    /// - Parameters:
    ///   - query: the text, regardless of case and accents; all photos contain an empty text.
    ///   - key: the order. Photos for which it is not known come last, in the order of the list.
    ///   - state: the state that the photos must have; nil for any.
    ///   - states: the state of the photo in each row.
    /// - Complexity: O(n log n) in the length of the list.
    public func rows(
        matching query: String, sortedBy key: Key, in state: PhotoState.Kind?,
        states: [PhotoState]
    ) -> [Int] {
        places(matching: query, sortedBy: key, in: state) { place in
            // The list may have grown since the states were read.
            let row = rows[place]
            return states.indices.contains(row) ? states[row].kind : records[place].state.kind
        }.map { rows[$0] }
    }

    private func places(
        matching query: String, sortedBy key: Key, in kind: PhotoState.Kind?,
        _ kindAt: (Int) -> PhotoState.Kind
    ) -> [Int] {
        var places = key == .name ? placesByName() : Array(records.indices)
        if let kind { places = places.filter { kindAt($0) == kind } }
        let query = Self.folded(query)
        if !query.isEmpty {
            let names = names()
            places = places.filter { names[$0].contains(query) }
        }
        switch key {
        case .list, .name: return places
        case .state: return sorted(places) { -kindAt($0).rank }
        case .date:
            let (all, files) = (facts.all, files())
            return sorted(places) { place in
                let id = records[place].id
                return dates?.seconds(of: id) ?? all[id]?.taken.flatMap(Self.seconds)
                    ?? files[place].seconds
            }
        case .size:
            let (all, files) = (facts.all, files())
            return sorted(places) { all[records[$0].id]?.byteCount ?? files[$0].byteCount }
        }
    }

    /// Sorts by descending values; equal values keep their order, and unknown ones come last.
    private func sorted(_ places: [Int], by value: (Int) -> Int?) -> [Int] {
        places.map { (place: $0, value: value($0) ?? .min) }
            .sorted { ($1.value, $0.place) < ($0.value, $1.place) }
            .map(\.place)
    }

    // MARK: Preparation

    // Two threads may prepare the same values at once; both results are equal.

    private func names() -> [String] {
        if let names = prepared.withLock({ $0.names }) { return names }
        let names = records.map { Self.folded($0.name) }
        prepared.withLock { $0.names = names }
        return names
    }

    private func placesByName() -> [Int] {
        if let places = prepared.withLock({ $0.placesByName }) { return places }
        let names = records.map { NaturalOrder($0.name) }
        let places = records.indices.sorted { left, right in
            names[left] == names[right] ? left < right : names[left] < names[right]
        }
        prepared.withLock { $0.placesByName = places }
        return places
    }

    private func files() -> [FileFacts] {
        if let files = prepared.withLock({ $0.files }) { return files }
        let files = records.map { record in
            let status = record.file.flatMap { LocalFiles.status(of: $0) }
            return FileFacts(byteCount: status?.byteCount, seconds: status?.modified.seconds)
        }
        prepared.withLock { $0.files = files }
        return files
    }

    private static func folded(_ text: String) -> String {
        text.folding(
            options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }

    /// The seconds since 1970 of a time such as `2015-04-14T18:21:09`. An offset is ignored: the
    /// cameras that write none have the same local time.
    static func seconds(_ time: String) -> Int? {
        let numbers = time.prefix(19).split { !$0.isNumber }.compactMap { Int($0) }
        guard numbers.count == 6 else { return nil }
        // The year begins in March, so that the leap day is its last day.
        let month = (numbers[1] + 9) % 12
        let year = numbers[0] - (numbers[1] <= 2 ? 1 : 0)
        let days =
            365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + numbers[2]
            - 719_469
        return ((days * 24 + numbers[3]) * 60 + numbers[4]) * 60 + numbers[5]
    }
}

extension PhotoState {
    /// The states without the reason of a failure.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// See ``PhotoState/new``.
        case new
        /// See ``PhotoState/downloaded``.
        case downloaded
        /// See ``PhotoState/filtered``.
        case filtered
        /// See ``PhotoState/failed(_:)``.
        case failed

        /// The place in the order by state.
        var rank: Int {
            switch self {
            case .failed: 0
            case .new: 1
            case .downloaded: 2
            case .filtered: 3
            }
        }
    }

    /// The state without the reason of a failure.
    public var kind: Kind {
        switch self {
        case .new: .new
        case .downloaded: .downloaded
        case .filtered: .filtered
        case .failed: .failed
        }
    }
}
#endif
