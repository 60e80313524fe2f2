import Operations
import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is known of the photos of a list, before and after they are decoded: the one place that
/// knows each photo. All pages that show the list share it.
///
/// One operation a photo reads what its file says before the pixels, and the files with XMP beside
/// it. The operations run in the background and leave a processor to the photos on the screen. With
/// a file, which <doc:PhotoIndexFile> describes, later runs of the program read only what is new or
/// changed. A photo on the web is known once it was decoded.
///
/// All methods are thread-safe.
public final class PhotoIndex: Sendable {
    struct Entry {
        var facts: PhotoFacts
        /// The version of the sidecars that were read; nil if the header was not read.
        var sidecars: UInt64?
        /// The file whose facts are in the file of the index; nil for a file that may change.
        var key: PhotoFileKey?
    }

    struct State {
        var entries: [PhotoID: Entry] = [:]
        /// Changes whenever a text by which photos are found may have changed.
        var textRevision = 0
        /// The operations that read photos. There are some as long as photos wait.
        fileprivate var reading: [PhotoID: Operations.Operation] = [:]
        /// The photos that have no operation yet, the next one last.
        fileprivate var waiting: [Item] = []
        fileprivate var isClosed = false
        fileprivate var unsaved: [PhotoIndexRecord] = []
        /// The latest look which photos are new, and the revision of the list at which it looks.
        fileprivate var looking: (revision: Int, operation: TypedOperation<Void>)?
        /// The photos that were read since the latest ``takeChanges()``; nil if nobody asks.
        fileprivate var changed: Set<PhotoID>?
        fileprivate var signal: AsyncStream<Void>.Continuation?
    }

    let state = Mutex(State())
    let prepared = Mutex(PreparedOrder())
    private let limits: SourceLimits
    private let file: PhotoIndexFile?
    /// Looks which photos are new. Only one look runs at a time.
    private let looks = Operations.OperationQueue()
    private let headers = Operations.OperationQueue()

    /// The numbers of records that are appended to the file together: of headers, and of photos
    /// that were decoded, which takes longer.
    private static let (batch, decodedBatch) = (256, 16)
    private static let mostOperations = 32
    /// A record that is used has this age in days at most.
    private static let longestAge: UInt32 = 30

    /// Creates an empty index that keeps nothing for later runs.
    public convenience init() { self.init(limits: SourceLimits()) }

    /// Creates an empty index.
    ///
    /// - Parameters:
    ///   - limits: the limits that a picture must meet.
    ///   - capacity: the processors that the index shares with other work on photos.
    ///   - file: keeps what was read for later runs; nil for an index in memory only.
    public init(
        limits: SourceLimits, capacity: PixelCapacity = .shared, file: PhotoIndexFile? = nil
    ) {
        self.limits = limits
        self.file = file
        looks.name = "Photo list"
        looks.maxConcurrentOperationCount = 1
        headers.name = "Photo index"
        headers.maxConcurrentOperationCount = max(1, capacity.processors.permits - 1)
    }

    /// What is known of a photo; nil before its file was read or it was decoded.
    public subscript(id: PhotoID) -> PhotoFacts? { state.withLock { $0.entries[id]?.facts } }

    /// What is known of some photos; nil also for nil.
    public func facts(of ids: [PhotoID?]) -> [PhotoFacts?] {
        state.withLock { state in ids.map { id in id.flatMap { state.entries[$0]?.facts } } }
    }

    /// The photos that were decoded.
    var decoded: Set<PhotoID> {
        state.withLock { state in
            Set(state.entries.lazy.filter { $0.value.facts.decodedColor != nil }.map(\.key))
        }
    }

    /// Adds what was found when a photo was decoded.
    ///
    /// Call it on a thread that may block: a file without a small picture has colors from now on,
    /// which are kept for later runs.
    public func decoded(_ id: PhotoID, _ found: PhotoFacts) {
        state.withLock { state in
            guard var entry = state.entries[id], let sidecars = entry.sidecars else {
                state.entries[id] = Entry(facts: found)
                state.textRevision += 1
                return
            }
            let isNew = entry.facts.placeholder == nil && found.placeholder != nil
            entry.facts.found(found)
            state.entries[id] = entry
            guard isNew, let key = entry.key else { return }
            state.unsaved.append(
                PhotoIndexRecord(
                    key: key, sidecars: sidecars, day: Self.today, facts: entry.facts))
        }
        save(atLeast: Self.decodedBatch)
    }

    // MARK: Reading

    /// Begins to read the files that are new to the index, or have other sidecars than before.
    public func prepare(_ contents: PhotoCatalog.Contents) {
        _ = look(contents)
    }

    /// Returns once the files of a list have been read.
    public func ready(for contents: PhotoCatalog.Contents) async {
        let latest = state.withLock { state in
            state.looking.flatMap { $0.revision == contents.revision ? $0.operation : nil }
        }
        await (latest ?? look(contents)).finished()
        while true {
            let reading = state.withLock { $0.isClosed ? [] : Array($0.reading.values) }
            guard !reading.isEmpty else { return }
            for operation in reading { await operation.finished() }
        }
    }

    /// Whether the files of a list have been read.
    public func isReady(for contents: PhotoCatalog.Contents) -> Bool {
        state.withLock { state in
            state.looking?.revision == contents.revision
                && state.looking?.operation.isFinished == true && state.reading.isEmpty
        }
    }

    /// Reads no further files, and keeps what was read.
    public func close() {
        state.withLock { $0.isClosed = true }
        looks.cancelAllOperations()
        headers.cancelAllOperations()
        save(atLeast: 1)
        let signal = state.withLock { state in
            defer { state.signal = nil }
            return state.signal
        }
        signal?.finish()
    }

    /// A stream that yields after files were read; then call ``takeChanges()``. There is one
    /// subscriber: a new stream ends the previous one.
    public func subscribe() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let former = state.withLock { state in
            defer {
                state.signal = continuation
                state.changed = []
            }
            return state.signal
        }
        former?.finish()
        return stream
    }

    /// The photos whose files were read since the last call.
    public func takeChanges() -> Set<PhotoID> {
        state.withLock { state in
            defer { state.changed = state.changed.map { _ in [] } }
            return state.changed ?? []
        }
    }

    private func look(_ contents: PhotoCatalog.Contents) -> TypedOperation<Void> {
        let operation = TypedOperation { [weak self] () -> Void in self?.read(contents) }
        operation.name = "Look for new photos"
        operation.qualityOfService = .utility
        state.withLock { $0.looking = (contents.revision, operation) }
        looks.addOperation(operation)
        return operation
    }

    /// A file that is read.
    fileprivate struct Item: Sendable {
        let record: PhotoRecord
        let file: LocalFile
        let sidecars: Sidecars.OfPhoto
        let key: PhotoFileKey
    }

    /// Takes from the file what it has, and begins to read the rest.
    private func read(_ contents: PhotoCatalog.Contents) {
        let items = newItems(of: contents)
        let stored = file?.records(of: Set(items.map(\.key))) ?? [:]
        let today = Self.today
        let (begun, signal) = state.withLock { state in
            forget(except: contents, &state)
            let waiting = Set(state.waiting.lazy.map(\.record.id))
            var new: [Item] = []
            for item in items {
                if var record = stored[item.key], record.sidecars == item.sidecars.version {
                    insert(record.facts, of: item, isSteady: true, &state)
                    guard record.day &+ Self.longestAge < today else { continue }
                    record.day = today
                    state.unsaved.append(record)
                } else if state.reading[item.record.id] == nil, !waiting.contains(item.record.id) {
                    new.append(item)
                }
            }
            state.waiting = new.reversed() + state.waiting
            return (begin(&state), state.signal)
        }
        headers.addOperations(begun, waitUntilFinished: false)
        saveBatch()
        if !items.isEmpty { signal?.yield() }
    }

    /// The files that the index does not know, or with other sidecars.
    private func newItems(of contents: PhotoCatalog.Contents) -> [Item] {
        let known = state.withLock { $0.entries }
        var sidecars = Sidecars()
        return contents.rows.compactMap { row in
            let record = contents.records[row]
            guard let file = record.file else { return nil }
            let own = sidecars.of(file)
            guard known[record.id]?.sidecars != own.version, let status = file.status else {
                return nil
            }
            return Item(record: record, file: file, sidecars: own, key: PhotoFileKey(status))
        }
    }

    /// Forgets photos that have left the list, when they are as many as those in it.
    private func forget(except contents: PhotoCatalog.Contents, _ state: inout State) {
        guard state.entries.count > 2 * contents.rows.count + 1_000 else { return }
        let present = Set(contents.rows.lazy.map { contents.records[$0].id })
        state.entries = state.entries.filter { present.contains($0.key) }
    }

    /// Makes operations for photos that wait, as far as there are not enough of them: those of a
    /// long list would take much memory.
    private func begin(_ state: inout State) -> [Operations.Operation] {
        var begun: [Operations.Operation] = []
        while !state.isClosed, state.reading.count < Self.mostOperations,
            let item = state.waiting.popLast()
        {
            let operation = reading(item)
            state.reading[item.record.id] = operation
            begun.append(operation)
        }
        return begun
    }

    private func reading(_ item: Item) -> Operations.Operation {
        let limits = item.record.url.map(self.limits.limits) ?? .standard
        let operation = TypedOperation { [weak self] in
            var facts = PhotoFacts.read(item.file, within: limits)
            for sidecar in item.sidecars.files {
                let packet = try? LocalFiles.bytes(
                    of: sidecar, limit: XMPFields.longestPacket, named: "")
                if let packet { facts?.apply(XMPFields(packet)) }
            }
            self?.finished(item, facts)
        }
        operation.name = "Read the header of \(item.record.name)"
        operation.queuePriority = .veryLow
        operation.qualityOfService = .background
        return operation
    }

    private func finished(_ item: Item, _ facts: PhotoFacts?) {
        // A file that changes while it is read, or may change within the same tick of its clock,
        // would have the facts of another version later.
        let isSteady = item.file.status.map(PhotoFileKey.init) == item.key && !item.key.isFresh
        let (begun, signal) = state.withLock { state in
            state.reading[item.record.id] = nil
            // A file that cannot be read now is not read again at each look.
            insert(facts ?? PhotoFacts(), of: item, isSteady: facts != nil && isSteady, &state)
            if let facts, isSteady, file != nil {
                state.unsaved.append(
                    PhotoIndexRecord(
                        key: item.key, sidecars: item.sidecars.version, day: Self.today,
                        facts: facts))
            }
            return (begin(&state), state.signal)
        }
        headers.addOperations(begun, waitUntilFinished: false)
        saveBatch()
        signal?.yield()
    }

    private func insert(
        _ facts: PhotoFacts, of item: Item, isSteady: Bool, _ state: inout State
    ) {
        let id = item.record.id
        var facts = facts
        if let known = state.entries[id]?.facts, known.decodedColor != nil { facts.found(known) }
        state.entries[id] = Entry(
            facts: facts, sidecars: item.sidecars.version,
            key: isSteady && file != nil ? item.key : nil)
        state.textRevision += 1
        state.changed?.insert(id)
    }

    /// Appends what was read to the file, if there is enough of it or nothing more is to be read.
    private func saveBatch() {
        let isLast = state.withLock { $0.reading.isEmpty }
        save(atLeast: isLast ? 1 : Self.batch)
    }

    private func save(atLeast count: Int) {
        guard let file else { return }
        let records = state.withLock { state in
            guard state.unsaved.count >= count else { return [PhotoIndexRecord]() }
            defer { state.unsaved = [] }
            return state.unsaved
        }
        // Another program has locked the file: the records wait for the next call.
        if file.append(records) == .busy { state.withLock { $0.unsaved += records } }
    }

    private static var today: UInt32 {
        UInt32(clamping: Int(Date.now.timeIntervalSince1970) / 86_400)
    }
}

extension PhotoFileKey {
    /// Whether the file was changed within the last second.
    fileprivate var isFresh: Bool { modified.isFresh() }
}
