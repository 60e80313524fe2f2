import Synchronization

/// An operation that a search has reached, without a reference.
///
/// A search cannot retain a dependent: its deinitialisation may have begun. Nor may a search hold
/// the last reference to an operation by accident, because that operation's `deinit` would wait for
/// the end of this search. So a search touches operations through their address only.
/// Scheduling.md, "Order of the graph", says why the memory is there.
struct OperationAddress: Equatable {
    let base: UnsafeMutableRawPointer

    init(_ operation: Operation) {
        base = Unmanaged.passUnretained(operation).toOpaque()
    }

    /// A cast of the bits: a conversion by way of the object would count references in a build for
    /// debugging.
    init(_ operation: Unmanaged<Operation>) {
        base = unsafeBitCast(operation, to: UnsafeMutableRawPointer.self)
    }

    /// Where the stored properties lie, which is the same in all operations.
    private struct Layout {
        let word: Int
        let rank: Int
        let edges: Int

        init(of operation: Operation) {
            let base = UnsafeRawPointer(Unmanaged.passUnretained(operation).toOpaque())
            word = withUnsafePointer(to: operation.word) { UnsafeRawPointer($0) - base }
            rank = withUnsafePointer(to: operation.rank) { UnsafeRawPointer($0) - base }
            edges = withUnsafePointer(to: operation.edges) { UnsafeRawPointer($0) - base }
        }
    }

    private static let layout = Layout(of: Operation())

    /// Computes what is computed once, so that no search does so in its middle.
    static func prepare() { _ = layout }

    private var word: UnsafeMutablePointer<Atomic<UInt64>> {
        (base + Self.layout.word).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    var rank: UnsafeMutablePointer<Atomic<Int>> {
        (base + Self.layout.rank).assumingMemoryBound(to: Atomic<Int>.self)
    }

    var edges: Edges.Pointer? {
        (base + Self.layout.edges).assumingMemoryBound(to: Atomic<Edges.Pointer?>.self)
            .pointee.load(ordering: .acquiring)
    }

    var status: LifecycleState { LifecycleState(bits: word.pointee.load(ordering: .acquiring)) }

    /// The operation, retained. Something else retains it at this moment.
    var operation: Operation { Unmanaged<Operation>.fromOpaque(base).takeUnretainedValue() }

    /// As the operation's lock, which it is. The bit is no property that an observer would be told
    /// of.
    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        let locked = LifecycleState.Flags.locked.rawValue
        var backoff = Backoff()
        var before = word.pointee.load(ordering: .relaxed)
        while true {
            if before & locked != 0 {
                backoff.pause()
                before = word.pointee.load(ordering: .relaxed)
                continue
            }
            let (exchanged, original) = word.pointee.weakCompareExchange(
                expected: before, desired: before | locked,
                successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
            if exchanged { break }
            before = original
        }
        defer { word.pointee.bitwiseAnd(~locked, ordering: .releasing) }
        return body()
    }
}

extension LifecycleState {
    /// Whether the dependents of the operation have to wait, and the operation waits for its own
    /// dependencies. Once it is false it stays so.
    var holdsOthersBack: Bool { phase != .finished && !has(.cancelled) }
}
