import OperationsRuntime
import Synchronization

/// The observers of a queue, one of each kind at most; kept as long as the queue.
///
/// Unchecked: the memory is allocated once and consists of atomics.
final class QueueObservers: @unchecked Sendable {
    private typealias Place = Atomic<Unmanaged<ObserverReference>?>

    private let places: UnsafeMutablePointer<Place>

    init() {
        places = .allocate(capacity: QueueObserverKind.allCases.count)
        for index in QueueObserverKind.allCases.indices {
            (places + index).initialize(to: Place(nil))
        }
    }

    deinit {
        for index in QueueObserverKind.allCases.indices {
            places[index].load(ordering: .acquiring)?.release()
        }
        places.deinitialize(count: QueueObserverKind.allCases.count)
        places.deallocate()
    }

    /// Calls `body` for each observer of the given kinds, in the order of the kinds.
    @inline(__always)
    func forEach(_ kinds: UInt8, _ body: (ObserverReference) -> Void) {
        var rest = kinds
        while rest != 0 {
            let place = rest.trailingZeroBitCount
            rest &= rest - 1
            places[place].load(ordering: .acquiring)?._withUnsafeGuaranteedRef(body)
        }
    }

    func find<Observer: QueueObserver>(_ type: Observer.Type) -> Observer? {
        places[Int(type.kind.rawValue)].load(ordering: .acquiring)
            .flatMap { $0.takeUnretainedValue() as? ReferenceTo<Observer> }?.observer
    }

    /// Installs an observer unless there is one of its kind. Returns the observer that is
    /// installed.
    func install<Observer: QueueObserver>(_ observer: Observer) -> Observer {
        let new = Unmanaged<ObserverReference>.passRetained(ReferenceTo(observer))
        let (isOurs, _) = places[Int(Observer.kind.rawValue)].compareExchange(
            expected: nil, desired: new, ordering: .acquiringAndReleasing)
        if isOurs { return observer }
        new.release()
        guard let other = find(Observer.self) else {
            fatalError("unreachable: each kind of observer has one class")
        }
        return other
    }
}

/// A reference to an observer, through which the observer is called.
///
/// Calls of a protocol's methods count references to the object, and all workers of a queue would
/// count at one place in memory. Calls of a class's methods do not, if an unmanaged reference leads
/// to the object.
///
/// Unchecked because it is a base class; the subclass holds a constant.
class ObserverReference: @unchecked Sendable {
    func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {}
    func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext
    ) {}
}

private final class ReferenceTo<Observer: QueueObserver>: ObserverReference, @unchecked Sendable {
    let observer: Observer

    init(_ observer: Observer) { self.observer = observer }

    override func receive(
        _ event: QueueEvent, of operation: Operation, on thread: ThreadContext
    ) {
        observer.receive(event, of: operation, on: thread)
    }
    override func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext
    ) {
        observer.threadWaited(inside: operation, from: start, until: end, on: thread)
    }
}

extension OperationQueue {
    /// The list of observers, which the queue retains; nil if the queue was never observed.
    @inline(__always)
    var observerList: Unmanaged<QueueObservers>? {
        observers.load(ordering: .acquiring).map { Unmanaged.fromOpaque($0.toOpaque()) }
    }

    private var existingObservers: QueueObservers? { observerList?.takeUnretainedValue() }

    private var ownObservers: QueueObservers {
        if let existingObservers { return existingObservers }
        let list = QueueObservers()
        let new = Unmanaged<AnyObject>.passRetained(list)
        let (isOurs, _) = observers.compareExchange(
            expected: nil, desired: new, ordering: .acquiringAndReleasing)
        if isOurs { return list }
        new.release()
        guard let existingObservers else { fatalError("unreachable: somebody else has made it") }
        return existingObservers
    }

    /// Returns the queue's observer of the given class; nil if it has none.
    package final func existingObserver<Observer: QueueObserver>(
        _ type: Observer.Type
    ) -> Observer? {
        existingObservers?.find(type)
    }

    /// Returns the queue's observer of a class; makes it if the queue has none. A new observer
    /// receives no events before ``beginEvents(for:)``.
    package final func observer<Observer: QueueObserver>(orMake make: () -> Observer) -> Observer {
        existingObserver(Observer.self) ?? ownObservers.install(make())
    }

    /// Sends the queue's events to the observer of a kind from now on. Operations already in the
    /// queue count as added, or ready, at this moment.
    package final func beginEvents(for kind: QueueObserverKind) {
        begin(.observed(by: kind))
        let now = recordTime()
        event { state in
            state.records.markOfBlocks = PhaseTimestamp(.ready, now).bits
            state.ring.forEach { _, entry in
                entry.operation?._withUnsafeGuaranteedRef { operation in
                    switch operation.status.phase {
                    case .waiting, .checkingReadiness:
                        operation.markIfUnmarked(PhaseTimestamp(.added, now))
                    case .queued: operation.markIfUnmarked(PhaseTimestamp(.ready, now))
                    case .created, .starting, .executing, .finished: break
                    }
                }
            }
        }
    }

    /// Sends no further events to the observer of a kind, unless the observer is in use again.
    ///
    /// - Parameter isInUse: called under the queue's lock. A thread that begins to use the observer
    ///   makes this true before it calls ``beginEvents(for:)``, so none of its events is missed.
    package final func endEvents(
        for kind: QueueObserverKind, unless isInUse: () -> Bool = { false }
    ) {
        end(.observed(by: kind), unless: isInUse)
    }

    /// The operations that have not left the queue, with barriers, and with those that have
    /// finished and are about to leave: their ends may not have been recorded yet.
    ///
    /// Blocks are left out: as long as nobody has asked for their operations, nothing was recorded
    /// of them.
    package final var operationsNotLeft: [Operation] {
        snapshot { state in
            var operations: [Operation] = []
            state.ring.forEach { _, entry in
                if let operation = entry.operation?.takeUnretainedValue() {
                    operations.append(operation)
                }
            }
            return operations
        }
    }
}
