import Synchronization

/// The address of an operation that a search has reached, without a reference to the operation.
///
/// A search cannot retain a dependent: its deinitialisation may have begun. Nor may a search happen
/// to hold the last reference to an operation, because that operation's `deinit` would wait for the
/// end of this search. So a search touches operations through their address only.
/// TopologicalOrder.md, "Lifetimes", says why the memory is valid.
struct OperationAddress: Equatable {
    let base: UnsafeMutableRawPointer

    init(_ operation: Operation) {
        base = Unmanaged.passUnretained(operation).toOpaque()
    }

    /// Casts the bits: a conversion through the object would count references in a debug build.
    init(_ operation: Unmanaged<Operation>) {
        base = unsafeBitCast(operation, to: UnsafeMutableRawPointer.self)
    }

    /// The offsets of the stored properties, which are the same in all operations.
    private struct Layout {
        let lifecycle: Int
        let rank: Int
        let edges: Int

        init(of operation: Operation) {
            let base = UnsafeRawPointer(Unmanaged.passUnretained(operation).toOpaque())
            lifecycle = withUnsafePointer(to: operation.lifecycle) { UnsafeRawPointer($0) - base }
            rank = withUnsafePointer(to: operation.rank) { UnsafeRawPointer($0) - base }
            edges = withUnsafePointer(to: operation.edges) { UnsafeRawPointer($0) - base }
        }
    }

    private static let layout = Layout(of: Operation())

    /// Computes the offsets in advance, so that no search does so halfway.
    static func prepare() { _ = layout }

    private var lifecycle: UnsafeMutablePointer<AtomicLifecycleState> {
        (base + Self.layout.lifecycle).assumingMemoryBound(to: AtomicLifecycleState.self)
    }

    var rank: UnsafeMutablePointer<Atomic<Int>> {
        (base + Self.layout.rank).assumingMemoryBound(to: Atomic<Int>.self)
    }

    var edges: Edges.Pointer? {
        (base + Self.layout.edges).assumingMemoryBound(to: Atomic<Edges.Pointer?>.self)
            .pointee.load(ordering: .acquiring)
    }

    var status: LifecycleState { lifecycle.pointee.current }

    /// The operation, retained. Another reference keeps the operation alive at this moment.
    var operation: Operation { Unmanaged<Operation>.fromOpaque(base).takeUnretainedValue() }

    /// Calls `body` with the operation's lock held, as `Operation.withLock(_:)` does.
    @inline(__always)
    func withLock<Result>(_ body: () -> Result) -> Result {
        lifecycle.pointee.lock()
        defer { lifecycle.pointee.unlock() }
        return body()
    }
}

extension LifecycleState {
    /// Whether the operation's dependents have to wait for it, and the operation for its own
    /// dependencies. Once false, the value stays false.
    var holdsOthersBack: Bool { phase != .finished && !has(.cancelled) }
}
