import Imaging
import Synchronization

/// Pictures in memory, up to a number of bytes; drops the least recently used first.
///
/// Thread-safe. Each operation takes constant time, apart from the pictures that it drops.
final class PictureCache: Sendable {
    /// A picture that can be kept.
    enum Picture: Sendable {
        case pixels(Bitmap, PhotoFacts?)
        case file(EncodedImage)
        case original([UInt8])

        var byteCount: Int {
            switch self {
            case .pixels(let bitmap, _): bitmap.byteCount
            case .file(let image): image.bytes.count
            case .original(let bytes): bytes.count
            }
        }
    }

    /// An entry in the list of uses. The links are positions in `entries`; -1 stands for none.
    private struct Entry {
        var key: PictureKey
        var picture: Picture?
        var cost: Int
        var older = -1
        var newer = -1
    }

    private struct State {
        var positions: [PictureKey: Int] = [:]
        var entries: [Entry] = []
        var unused: [Int] = []
        var oldest = -1
        var newest = -1
        var byteCount = 0
        var limit: Int

        mutating func unlink(_ position: Int) {
            let entry = entries[position]
            if entry.older >= 0 { entries[entry.older].newer = entry.newer }
            if entry.newer >= 0 { entries[entry.newer].older = entry.older }
            if oldest == position { oldest = entry.newer }
            if newest == position { newest = entry.older }
        }

        mutating func linkAsNewest(_ position: Int) {
            entries[position].older = newest
            entries[position].newer = -1
            if newest >= 0 { entries[newest].newer = position }
            newest = position
            if oldest < 0 { oldest = position }
        }

        /// Removes an entry and returns its picture, which is released without the lock.
        mutating func remove(_ position: Int) -> Picture? {
            unlink(position)
            positions[entries[position].key] = nil
            byteCount -= entries[position].cost
            unused.append(position)
            return entries[position].picture.take()
        }

        mutating func removeOverLimit() -> [Picture?] {
            var removed: [Picture?] = []
            while byteCount > limit, oldest >= 0 { removed.append(remove(oldest)) }
            return removed
        }
    }

    /// The memory that an entry takes in addition to its picture, approximately.
    private static let overhead = 400

    private let state: Mutex<State>

    /// - Parameter limit: the maximum size of all pictures in bytes; 0 to keep none.
    init(limit: Int) { state = Mutex(State(limit: max(0, limit))) }

    /// The size of all pictures in bytes.
    var byteCount: Int { state.withLock { $0.byteCount } }

    func photo(_ key: PictureKey, from origin: Photo.Origin) -> Photo? {
        guard case .pixels(let bitmap, let facts)? = picture(key) else { return nil }
        return Photo(bitmap: bitmap, origin: origin, facts: facts, key: key)
    }

    func insert(_ photo: Photo) { insert(.pixels(photo.bitmap, photo.facts), for: photo.key) }

    func file(_ key: PictureKey) -> EncodedImage? {
        if case .file(let image)? = picture(key) { image } else { nil }
    }

    func original(_ key: PictureKey) -> [UInt8]? {
        if case .original(let bytes)? = picture(key) { bytes } else { nil }
    }

    /// Whether the picture is in memory; does not count as a use.
    func contains(_ key: PictureKey) -> Bool { state.withLock { $0.positions[key] != nil } }

    private func picture(_ key: PictureKey) -> Picture? {
        state.withLock { state in
            guard let position = state.positions[key] else { return nil }
            state.unlink(position)
            state.linkAsNewest(position)
            return state.entries[position].picture
        }
    }

    /// Keeps a picture, unless it is larger than the limit.
    func insert(_ picture: Picture, for key: PictureKey) {
        let cost = picture.byteCount + Self.overhead
        let removed = state.withLock { state -> [Picture?] in
            var removed: [Picture?] = []
            if let position = state.positions[key] { removed.append(state.remove(position)) }
            guard cost <= state.limit else { return removed }
            let entry = Entry(key: key, picture: picture, cost: cost)
            let position: Int
            if let unused = state.unused.popLast() {
                position = unused
                state.entries[position] = entry
            } else {
                position = state.entries.count
                state.entries.append(entry)
            }
            state.positions[key] = position
            state.linkAsNewest(position)
            state.byteCount += cost
            return removed + state.removeOverLimit()
        }
        withExtendedLifetime(removed) {}
    }

    /// Drops all pictures.
    func removeAll() {
        let removed = state.withLock { state -> State in
            defer { state = State(limit: state.limit) }
            return state
        }
        withExtendedLifetime(removed) {}
    }
}
