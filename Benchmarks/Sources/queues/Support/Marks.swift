/// A byte for each piece of work, which the work raises by one.
///
/// Every block of every workload writes its own byte and does nothing else. So each block captures
/// something, as blocks do in earnest, no two of them touch the same memory for long, and afterwards we
/// can prove that each ran exactly once.
///
/// Unchecked: no two blocks share a byte, and the bytes are read when all blocks have ended.
struct Marks: @unchecked Sendable {
    private let bytes: UnsafeMutablePointer<UInt8>
    let count: Int

    init(count: Int) {
        self.count = count
        bytes = .allocate(capacity: count)
        bytes.initialize(repeating: 0, count: count)
    }

    @inline(__always)
    func mark(_ index: Int) { bytes[index] &+= 1 }

    /// Frees the bytes, and stops the program unless each was raised exactly so often.
    func release(expecting times: UInt8, of peer: Peer) {
        for index in 0..<count where bytes[index] != times {
            fatalError(
                "\(peer.title) ran piece of work \(index) \(bytes[index]) times instead of \(times): "
                    + "what was measured means nothing")
        }
        release()
    }

    /// Frees the bytes, where the peer may run any of the blocks or none.
    func release() { bytes.deallocate() }
}
