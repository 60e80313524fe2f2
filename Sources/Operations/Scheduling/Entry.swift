/// What a slot of a queue's ring, and a place of a claim, holds: an operation, or a block for which
/// no operation was made. A place of a claim may also hold the number of an entry of a source.
///
/// An entry is copied as bits, and its references are counted by hand, as with `Unmanaged`. One
/// copy at a time owns a reference to the operation, or to what the block captures.
struct Entry: BitwiseCopyable {
    private enum Kind: UInt8 { case operation, block, number }

    /// The address of the operation, or the closure.
    private let words: (UInt, UInt)
    /// The rank of the quality of service that was in force where the block was added.
    let rank: UInt8
    private let kind: Kind

    /// Makes an entry that does not own a reference to the operation.
    @inline(__always)
    static func operation(_ operation: Unmanaged<Operation>) -> Entry { Entry(operation) }

    @inline(__always)
    private init(_ operation: Unmanaged<Operation>) {
        (words, rank, kind) = ((UInt(bitPattern: operation.toOpaque()), 0), 0, .operation)
    }

    /// Makes an entry that takes over the reference of a block.
    @inline(__always)
    init(_ block: consuming Block, rank: Int) {
        var block = Optional(block)
        words = withUnsafeTemporaryAllocation(of: Block.self, capacity: 1) { buffer in
            let memory = buffer.baseAddress.unsafelyUnwrapped
            memory.initialize(to: block.take().unsafelyUnwrapped)
            return UnsafeRawPointer(memory).load(as: (UInt, UInt).self)
        }
        self.rank = UInt8(truncatingIfNeeded: rank)
        kind = .block
    }

    /// Makes an entry of the source that the claim is for.
    @inline(__always)
    init(number: UInt32) { (words, rank, kind) = ((UInt(number), 0), 0, .number) }

    /// The number by which the source knows its entry; nil if the entry is of no source.
    @inline(__always)
    var number: UInt32? { kind == .number ? UInt32(truncatingIfNeeded: words.0) : nil }

    @inline(__always)
    var isBlock: Bool { kind == .block }

    /// The operation; nil if there is only a block.
    @inline(__always)
    var operation: Unmanaged<Operation>? {
        guard kind == .operation, let address = UnsafeRawPointer(bitPattern: words.0) else {
            return nil
        }
        return .fromOpaque(address)
    }

    /// Tells the entry from others that exist at the same time, except that blocks which capture
    /// nothing may have the same value.
    var identity: UInt { words.0 ^ words.1 }

    func isOperation(at address: UnsafeMutableRawPointer) -> Bool {
        operation?.toOpaque() == address
    }

    /// Takes over the reference of the entry, which is a block.
    @inline(__always)
    func takeBlock() -> Block {
        assert(isBlock)
        return withUnsafeTemporaryAllocation(of: Block.self, capacity: 1) { buffer in
            let memory = buffer.baseAddress.unsafelyUnwrapped
            UnsafeMutableRawPointer(memory).storeBytes(of: words, as: (UInt, UInt).self)
            return memory.move()
        }
    }

    /// Runs the block. The entry keeps its reference.
    @inline(__always)
    func runBlock() {
        withUnsafeTemporaryAllocation(of: Block.self, capacity: 1) { buffer in
            let memory = buffer.baseAddress.unsafelyUnwrapped
            UnsafeMutableRawPointer(memory).storeBytes(of: words, as: (UInt, UInt).self)
            let block = memory.move()
            block.run()
            memory.initialize(to: block)
        }
    }

    /// Gives up the reference. What the body captures is released, which may run user code: the
    /// caller holds no lock and no slot, and is inside no operation.
    @inline(__always)
    func release() {
        guard let operation else { return _ = takeBlock() }
        operation._withUnsafeGuaranteedRef { $0.releaseBody() }
        operation.release()
    }
}

/// The closure that was added to a queue.
struct Block: Sendable {
    let body: @Sendable () -> Void

    @inline(__always)
    init(_ body: consuming @escaping @Sendable () -> Void) { self.body = body }

    /// Not inlined: inside its caller, the call would retain and release the closure.
    @inline(never)
    func run() { body() }
}
