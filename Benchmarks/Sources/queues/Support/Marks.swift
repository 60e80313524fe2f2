/// A byte for each piece of work, which the work increments.
///
/// Every block of every workload increments its own byte and does nothing else. So each block has a
/// capture, as real blocks do, and blocks hardly share memory. After a run, the bytes prove that
/// each block ran exactly once.
///
/// Unchecked: no two blocks share a byte, and the bytes are read after all blocks have ended.
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

    /// Frees the bytes; stops the program unless each byte was incremented exactly `times` times.
    func release(expecting times: UInt8, of peer: Peer) {
        for index in 0..<count where bytes[index] != times {
            fatalError(
                "\(peer.title) ran piece of work \(index) \(bytes[index]) times instead of \(times): "
                    + "the measurement is invalid")
        }
        release()
    }

    /// Frees the bytes unchecked, for runs in which the peer may run any subset of the blocks.
    func release() { bytes.deallocate() }
}
