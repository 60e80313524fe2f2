import OperationsRuntime
import Synchronization

/// What an operation knows of its task, in one word: that it has none; that its async body has not
/// begun or has ended; the body that a task shared with other operations runs now; or a `TaskRun`,
/// which an operation has whose task is its own.
///
/// A thread that wants to cancel or promote the body locks the word for a few instructions, in
/// which the body cannot end. Both sides change the word by read-modify-write operations, so one of
/// them comes first: either the thread finds the body, or the body finds what the thread has
/// recorded in the operation before.
struct TaskWord: ~Copyable, Sendable {
    private let word: Atomic<UInt>

    private static var isAsync: UInt { 1 }
    private static var isLocked: UInt { 2 }
    /// The address is that of a `TaskRun`, which the word retains.
    private static var isRun: UInt { 4 }
    private static var flags: UInt { 7 }

    /// - Parameter isAsync: whether the operation has an async body.
    init(isAsync: Bool) { word = Atomic(isAsync ? Self.isAsync : 0) }

    init(_ run: consuming TaskRun) {
        word = Atomic(Self.retained(run))
    }

    private static func retained(_ run: TaskRun) -> UInt {
        UInt(bitPattern: Unmanaged.passRetained(run).toOpaque()) | isAsync | isRun
    }

    /// Releases the `TaskRun`. Returns it if there is one. Called when no other thread has access.
    func takeRun() -> TaskRun? {
        guard let run else { return nil }
        word.store(Self.isAsync, ordering: .relaxed)
        return run.takeRetainedValue()
    }

    private static func object<Object>(_: Object.Type, in word: UInt) -> Unmanaged<Object> {
        guard let address = UnsafeRawPointer(bitPattern: word & ~flags) else {
            fatalError("unreachable: the word holds an address")
        }
        return .fromOpaque(address)
    }

    var isAsync: Bool {
        @inline(__always) get { word.load(ordering: .relaxed) & Self.isAsync != 0 }
    }

    /// The run; nil if there is none. It lives as long as the operation.
    var run: Unmanaged<TaskRun>? {
        @inline(__always) get {
            let word = word.load(ordering: .acquiring)
            return word & Self.isRun == 0 ? nil : Self.object(TaskRun.self, in: word)
        }
    }

    /// Returns the run, which is made if there is none.
    func run(orMake make: () -> TaskRun) -> TaskRun {
        if let run { return run.takeUnretainedValue() }
        let new = make()
        let desired = Self.retained(new)
        var backoff = Backoff()
        while !word.compareExchange(
            expected: Self.isAsync, desired: desired, ordering: .acquiringAndReleasing
        ).exchanged {
            backoff.pause()
        }
        return new
    }

    // MARK: The body of a shared task

    /// Publishes the body that a shared task is about to run.
    @inline(__always)
    func begin(_ body: Unmanaged<AsyncBody>) {
        let address = UInt(bitPattern: body.toOpaque())
        replace(Self.isAsync, by: address | Self.isAsync)
    }

    /// Records that the body has ended. No other thread uses it through this word any longer.
    @inline(__always)
    func end(_ body: Unmanaged<AsyncBody>) {
        let address = UInt(bitPattern: body.toOpaque())
        replace(address | Self.isAsync, by: Self.isAsync)
    }

    /// Replaces the word, as soon as it is not locked.
    @inline(__always)
    private func replace(_ old: UInt, by new: UInt) {
        let (exchanged, _) = word.compareExchange(
            expected: old, desired: new, ordering: .acquiringAndReleasing)
        if !exchanged { replaceSlowly(old, by: new) }
    }

    @inline(never)
    private func replaceSlowly(_ old: UInt, by new: UInt) {
        var backoff = Backoff()
        while !word.compareExchange(
            expected: old, desired: new, ordering: .acquiringAndReleasing
        ).exchanged {
            backoff.pause()
        }
    }

    // MARK: Other threads

    /// What a thread finds that is not the task's.
    enum Found {
        case nothing
        case body(AsyncBody)
        case run(TaskRun)
    }

    /// Returns the body or the run.
    ///
    /// - Parameter visit: called with the body while it cannot end.
    func find(_ visit: (AsyncBody) -> Void = { _ in }) -> Found {
        var backoff = Backoff()
        var old = word.bitwiseOr(Self.isLocked, ordering: .acquiringAndReleasing).oldValue
        while old & Self.isLocked != 0 {
            backoff.pause()
            old = word.bitwiseOr(Self.isLocked, ordering: .acquiringAndReleasing).oldValue
        }
        defer { word.store(old, ordering: .releasing) }
        if old & Self.isRun != 0 {
            return .run(Self.object(TaskRun.self, in: old).takeUnretainedValue())
        }
        guard old & ~Self.flags != 0 else { return .nothing }
        let body = Self.object(AsyncBody.self, in: old).takeUnretainedValue()
        visit(body)
        return .body(body)
    }
}
