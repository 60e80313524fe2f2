import Foundation
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

extension PhotoIndex {
    /// The keys by which photos are sorted.
    public enum SortKey: String, Sendable, CaseIterable {
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

    /// The rows of the photos that a text finds, in an order.
    ///
    /// Names are prepared at the first call for a list, which takes up to a second for a long one,
    /// so call on a thread that may block.
    ///
    /// - Parameters:
    ///   - records: the list; rows are indices in it.
    ///   - query: a text that is in the name, the title or a keyword of a photo, regardless of case
    ///     and accents; an empty text finds all photos.
    ///   - key: the order. Photos for which it is not known come last, in the order of the list.
    ///   - state: the state that the photos must have; nil for any.
    ///   - states: the state of the photo in each row.
    /// - Complexity: O(n log n) in the length of the list.
    public func rows(
        of records: [PhotoRecord], matching query: String, sortedBy key: SortKey,
        in state: PhotoState.Kind?, states: [PhotoState]
    ) -> [Int] {
        rows(
            of: PhotoCatalog.Contents(records), matching: query, sortedBy: key, in: state,
            states: states)
    }

    /// The rows of a catalog, as of a list of records. What is prepared for the contents is kept
    /// for the next call.
    public func rows(
        of contents: PhotoCatalog.Contents, matching query: String, sortedBy key: SortKey,
        in state: PhotoState.Kind?, states: [PhotoState]
    ) -> [Int] {
        func kind(_ row: Int) -> PhotoState.Kind {
            // The list may have grown since the states were read.
            states.indices.contains(row) ? states[row].kind : contents.records[row].state.kind
        }
        var rows = key == .name ? rowsByName(contents) : contents.rows
        if let state { rows = rows.filter { kind($0) == state } }
        rows = self.rows(rows, of: contents, matching: folded(query))
        switch key {
        case .list, .name: return rows
        case .state: return sorted(rows) { -kind($0).rank }
        case .date:
            let (entries, files) = (self.state.withLock { $0.entries }, files(contents))
            return sorted(rows) { row in
                entries[contents.records[row].id]?.facts.taken?.seconds ?? files[row]?.seconds
            }
        case .size:
            let (entries, files) = (self.state.withLock { $0.entries }, files(contents))
            return sorted(rows) { row in
                entries[contents.records[row].id]?.facts.byteCount ?? files[row]?.byteCount
            }
        }
    }

    private func rows(
        _ rows: [Int], of contents: PhotoCatalog.Contents, matching query: String
    ) -> [Int] {
        guard !query.isEmpty else { return rows }
        let (names, texts) = (names(contents), texts(contents))
        return rows.filter { names[$0].contains(query) || texts[$0]?.contains(query) == true }
    }

    /// Sorts by descending values; equal values keep their order, and unknown ones come last.
    private func sorted(_ rows: [Int], by value: (Int) -> Int?) -> [Int] {
        rows.enumerated().map { (place: $0, row: $1, value: value($1) ?? .min) }
            .sorted { ($1.value, $0.place) < ($0.value, $1.place) }
            .map(\.row)
    }
}

// MARK: Preparation

/// What is prepared for the contents for which photos were last found or sorted.
struct PreparedOrder {
    fileprivate struct FileFacts {
        let byteCount: Int
        let seconds: Int
    }

    fileprivate var identity: PhotoCatalog.Contents.Identity?
    /// The names without case and accents, by row.
    fileprivate var names: [String]?
    fileprivate var rowsByName: [Int]?
    fileprivate var files: [FileFacts?]?
    /// The titles and keywords without case and accents, by row, and the revision of the facts that
    /// they are from.
    fileprivate var texts: (revision: Int, texts: [String?])?
}

// Two threads may prepare the same values at once; both results are equal.
extension PhotoIndex {
    private func names(_ contents: PhotoCatalog.Contents) -> [String] {
        kept(\.names, contents) { contents.records.map { folded($0.name) } }
    }

    private func rowsByName(_ contents: PhotoCatalog.Contents) -> [Int] {
        kept(\.rowsByName, contents) {
            let names = contents.rows.map {
                (name: NaturalOrder(contents.records[$0].name), row: $0)
            }
            return names.enumerated().sorted { left, right in
                left.element.name == right.element.name
                    ? left.offset < right.offset : left.element.name < right.element.name
            }.map(\.element.row)
        }
    }

    private func files(_ contents: PhotoCatalog.Contents) -> [PreparedOrder.FileFacts?] {
        kept(\.files, contents) {
            contents.records.indices.map { row in
                contents.record(at: row)?.file.flatMap { LocalFiles.status(of: $0) }.map {
                    .init(byteCount: $0.byteCount, seconds: $0.modified.seconds)
                }
            }
        }
    }

    private func texts(_ contents: PhotoCatalog.Contents) -> [String?] {
        let (entries, revision) = state.withLock { ($0.entries, $0.textRevision) }
        let known = prepared.withLock { $0.identity === contents.identity ? $0.texts : nil }
        if let known, known.revision == revision { return known.texts }
        let texts = contents.records.map { record -> String? in
            guard let facts = entries[record.id]?.facts else { return nil }
            let texts = [facts.title].compactMap(\.self) + facts.keywords
            return texts.isEmpty ? nil : folded(texts.joined(separator: "\n"))
        }
        keep(\.texts, contents, (revision, texts))
        return texts
    }

    private func kept<Value: Sendable>(
        _ part: WritableKeyPath<PreparedOrder, Value?>, _ contents: PhotoCatalog.Contents,
        _ make: () -> Value
    ) -> Value {
        let known = prepared.withLock { prepared in
            prepared.identity === contents.identity ? prepared[keyPath: part] : nil
        }
        if let known { return known }
        let value = make()
        keep(part, contents, value)
        return value
    }

    private func keep<Value: Sendable>(
        _ part: WritableKeyPath<PreparedOrder, Value?>, _ contents: PhotoCatalog.Contents,
        _ value: Value
    ) {
        prepared.withLock { prepared in
            if prepared.identity !== contents.identity {
                prepared = PreparedOrder(identity: contents.identity)
            }
            prepared[keyPath: part] = value
        }
    }
}

private func folded(_ text: String) -> String {
    text.folding(
        options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
}
