import NIOCore

/// Rendered files by index, up to a number of bytes; removes the least recently used files first.
///
/// A pure value: no lock, no clock. Finding the oldest entry walks over all entries. There are
/// hundreds of entries, and rendering a picture takes a million times as long.
struct PhotoCache {
    private struct Slot {
        var file: ByteBuffer
        var lastUse: UInt64
    }

    private let byteLimit: Int
    private var slots: [Int: Slot] = [:]
    private var uses: UInt64 = 0
    private(set) var byteCount = 0

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    var count: Int { slots.count }

    mutating func file(_ key: Int) -> ByteBuffer? {
        guard let file = slots[key]?.file else { return nil }
        uses += 1
        slots[key]?.lastUse = uses
        return file
    }

    /// Stores a file and removes the oldest files if necessary; does not store a file larger than
    /// the limit.
    mutating func insert(_ file: ByteBuffer, for key: Int) {
        guard file.readableBytes <= byteLimit else { return }
        remove(key)
        uses += 1
        slots[key] = Slot(file: file, lastUse: uses)
        byteCount += file.readableBytes
        while byteCount > byteLimit,
            let oldest = slots.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            remove(oldest.key)
        }
    }

    private mutating func remove(_ key: Int) {
        guard let slot = slots.removeValue(forKey: key) else { return }
        byteCount -= slot.file.readableBytes
    }
}
