@_spi(ClassicPhotos) public import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The photos of a source that may change while they are shown.
///
/// A photo keeps its row as long as the catalog exists, so whatever is under way for a row stays
/// right when the list changes. New photos get the rows after all others. The rows of deleted
/// photos stay empty until the same photos return. A file that has changed keeps its row, and gets
/// another identifier, so that nothing that was made of the former contents is taken for it.
public final class PhotoCatalog: Sendable {
    /// The photos at one time.
    public struct Contents: Sendable {
        /// The photo of each row, also of the empty rows.
        public let records: [PhotoRecord]
        /// The rows of the photos that exist, in the order of the list.
        public let rows: [Int]
        /// The rows without a photo.
        public let emptyRows: Set<Int>
        /// The number of changes so far.
        public let revision: Int
        /// The same object in all copies of these contents, and in no others.
        let identity = Identity()

        final class Identity: Sendable {}

        init(records: [PhotoRecord], rows: [Int], emptyRows: Set<Int>, revision: Int) {
            self.records = records
            self.rows = rows
            self.emptyRows = emptyRows
            self.revision = revision
            isInRowOrder = rows.count == records.count && rows.elementsEqual(records.indices)
        }

        init(_ records: [PhotoRecord]) {
            self.init(
                records: records, rows: Array(records.indices), emptyRows: [], revision: 0)
        }

        /// Whether the list has all rows in their order.
        public let isInRowOrder: Bool

        /// The photo of a row; nil if the row is empty, or if there is no such row.
        public func record(at row: Int) -> PhotoRecord? {
            records.indices.contains(row) && !emptyRows.contains(row) ? records[row] : nil
        }
    }

    /// The difference between two contents.
    public struct Change: Sendable {
        /// The contents after the change.
        public let contents: Contents
        /// The rows that have another photo than before, or none. New rows do not belong to them.
        public let changedRows: Set<Int>
    }

    private struct State: Sendable {
        var contents: Contents
        /// The row of each photo, by the identifier in the list that was read.
        var rows: [PhotoID: Int]
        /// The version of each row's file; nil before the first comparison, and without a file.
        var versions: [PhotoVersion?]
    }

    private let state: Mutex<State>

    /// Creates a catalog of the photos of a list.
    public init(_ records: [PhotoRecord]) {
        let rows = records.enumerated().map { ($1.id, $0) }
        state = Mutex(
            State(
                contents: Contents(records), rows: Dictionary(rows) { first, _ in first },
                versions: Array(repeating: nil, count: records.count)))
    }

    /// The present contents.
    public var contents: Contents { state.withLock { $0.contents } }

    /// Changes the contents to those of a list that was read again.
    ///
    /// A new or changed file may still be incomplete if it was changed within the last second. It
    /// is left for the next call.
    ///
    /// Reads the times of all files, so call it on a thread that may block. Calls must not overlap.
    ///
    /// - Parameters:
    ///   - records: the list, with the identifiers that it always has.
    ///   - time: the present time.
    /// - Returns: the change, or nil if there is none; and whether a file was left for the next
    ///   call.
    public func update(
        to records: [PhotoRecord], at time: Date = .now
    ) -> (change: Change?, isWaiting: Bool) {
        var state = state.withLock { $0 }
        let old = state.contents
        var all = old.records
        var (rows, changed): ([Int], Set<Int>) = ([], [])
        var isWaiting = false
        rows.reserveCapacity(records.count)
        for record in records {
            let version = record.file.flatMap { LocalFiles.version(of: $0) }
            let isFresh = version?.isFresh(at: time) ?? false
            guard let row = state.rows[record.id] else {
                guard !isFresh else {
                    isWaiting = true
                    continue
                }
                state.rows[record.id] = all.count
                rows.append(all.count)
                all.append(record)
                state.versions.append(version)
                continue
            }
            let isBack = old.emptyRows.contains(row)
            let former = state.versions[row]
            let hasChanged = former != version && former != nil
            // The file has gone since the list was read.
            if hasChanged, version == nil { continue }
            if isFresh, isBack || hasChanged {
                isWaiting = true
                if !isBack { rows.append(row) }
                continue
            }
            rows.append(row)
            state.versions[row] = version
            guard isBack || hasChanged else { continue }
            changed.insert(row)
            all[row] = version.map { record.identified(by: $0) } ?? record
        }
        var empty = Set(all.indices)
        empty.subtract(rows)
        changed.formUnion(empty.subtracting(old.emptyRows))
        for row in empty { state.versions[row] = nil }
        let isSame = changed.isEmpty && rows == old.rows
        if !isSame {
            state.contents = Contents(
                records: all, rows: rows, emptyRows: empty, revision: old.revision + 1)
        }
        self.state.withLock { $0 = state }
        let change = isSame ? nil : Change(contents: state.contents, changedRows: changed)
        return (change, isWaiting)
    }
}

extension PhotoVersion {
    /// Whether the file was changed within the second before a time.
    public func isFresh(at time: Date = .now) -> Bool { modified?.isFresh(at: time) ?? false }
}

extension FileTime {
    /// Whether this is within the second before a time.
    func isFresh(at time: Date = .now) -> Bool {
        let changed = Double(seconds) + Double(nanoseconds) / 1e9
        return (0..<1).contains(time.timeIntervalSince1970 - changed)
    }
}

extension PhotoRecord {
    /// The record with an identifier for one version of its file.
    fileprivate func identified(by version: PhotoVersion) -> PhotoRecord {
        guard let url else { return self }
        let number = fnv1a(Array(version.text.utf8), after: id.rawValue)
        var record = PhotoRecord(
            id: PhotoID(rawValue: number), name: name, nameBytes: nameBytes, url: url)
        record.folder = folder
        return record
    }
}
