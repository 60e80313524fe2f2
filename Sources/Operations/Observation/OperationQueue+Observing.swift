import Synchronization

extension OperationQueue: KeyValueObserving {}

extension KeyValueObserving where Self: OperationQueue {
    /// Calls a handler with each change of a property, for as long as the returned object is kept.
    ///
    /// ```swift
    /// let observation = queue.observe(\.operationCount, options: [.new]) { queue, change in … }
    /// ```
    ///
    /// These properties can be observed: `operations`, `operationCount`,
    /// `maxConcurrentOperationCount`, `isSuspended`, `name` and `qualityOfService`. As with
    /// operations, observers are notified of every change once, in order, with no lock held, on the
    /// thread that made the change unless another thread is delivering. Each operation that comes
    /// or goes is one change. Observers are notified of it before any thread or task that was
    /// waiting for it by then goes on. Barriers are not counted.
    ///
    /// While `operations` or `operationCount` is observed, the queue hands operations to its
    /// workers one by one, which costs some of its speed. Each change of `operations` costs time in
    /// proportion to their number.
    ///
    /// - Parameters:
    ///   - keyPath: one of the properties above; any other stops the program.
    ///   - options: what a change contains; by default nothing but the fact that there was one.
    ///   - changeHandler: called by one thread at a time. The handler must not wait for operations
    ///     of the queue.
    public func observe<Value: Sendable>(
        _ keyPath: KeyPath<OperationQueue, Value>, options: KeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        let found = QueueProperties.all.first { $0.anyKeyPath == keyPath }
        guard let property = found as? ObservedProperty<OperationQueue, Value> else {
            misuse(QueueProperties.advice(for: self))
        }
        return begin(property, options, changeHandler)
    }

    /// Does the same for key paths that begin at a subclass, such as `\DownloadQueue.isSuspended`.
    ///
    /// In a `final` class that overrides the property, such a key path cannot be recognised. Write
    /// `\.isSuspended` instead, which is always recognised.
    @_disfavoredOverload
    public func observe<Value: Sendable>(
        _ keyPath: KeyPath<Self, Value>, options: KeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        let own: [(PartialKeyPath<Self>, any AnyObservedProperty)] = [
            (\Self.operations, QueueProperties.operations),
            (\Self.operationCount, QueueProperties.operationCount),
            (\Self.maxConcurrentOperationCount, QueueProperties.width),
            (\Self.isSuspended, QueueProperties.isSuspended),
            (\Self.name, QueueProperties.name),
            (\Self.qualityOfService, QueueProperties.qualityOfService),
        ]
        let found = own.first { $0.0 == keyPath }?.1
        guard let property = found as? ObservedProperty<OperationQueue, Value> else {
            misuse(QueueProperties.advice(for: self))
        }
        return begin(property, options, changeHandler)
    }

    private func begin<Value>(
        _ property: ObservedProperty<OperationQueue, Value>, _ options: KeyValueObservingOptions,
        _ changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        let observer = Observer<OperationQueue, Value>(options: options) { queue, change in
            // Only this object's observations call the closure.
            changeHandler(unsafeDowncast(queue, to: Self.self), change)
        }
        let observations = madeObservations()
        event { $0.observations = observations }
        let initial: Value
        if let current = QueueProperties.counted(property) {
            initial = event { state in
                state.beginNotifyingEach()
                return observations.add(observer, to: property, current: current(state))
            }
        } else {
            initial = observations.add(observer, to: property, of: self) {}
        }
        observer.begin(self, initial: initial)
        return KeyValueObservation { [weak self] in
            observations.remove(observer, from: property) { _ in }
            self?.event { state in
                if !observations.observesAny(of: QueueProperties.countedIDs) {
                    state.endNotifyingEach()
                }
            }
        }
    }
}

extension OperationQueue {
    var existingObservations: Observations<OperationQueue>? {
        observations.load(ordering: .acquiring)?.takeUnretainedValue()
    }

    fileprivate func madeObservations() -> Observations<OperationQueue> {
        if let existingObservations { return existingObservations }
        let new = Unmanaged.passRetained(Observations<OperationQueue>(self))
        let (exchanged, original) = observations.compareExchange(
            expected: nil, desired: new, ordering: .acquiringAndReleasing)
        if exchanged { return new.takeUnretainedValue() }
        new.release()
        guard let original else { fatalError("unreachable: somebody was first") }
        return original.takeUnretainedValue()
    }
}

/// The properties of queues that can be observed.
enum QueueProperties {
    typealias Property<Value: Sendable> = ObservedProperty<OperationQueue, Value>

    /// The changes of these two properties are recorded exactly, and the recorded values count:
    /// reading the property takes longer than a change.
    static let operations = Property(0, "operations", at: \.operations, isRead: false)
    static let operationCount = Property(1, "operationCount", at: \.operationCount, isRead: false)
    static let width = Property(
        2, "maxConcurrentOperationCount", at: \.maxConcurrentOperationCount)
    static let isSuspended = Property(3, "isSuspended", "suspended", at: \.isSuspended)
    static let name = Property(4, "name", at: \.name)
    static let qualityOfService = Property(5, "qualityOfService", at: \.qualityOfService)

    static let all: [any AnyObservedProperty] = [
        operations, operationCount, width, isSuspended, name, qualityOfService,
    ]
    static let countedIDs = [operations.id, operationCount.id]

    /// Returns a function that reads the value of a property that changes as operations come and
    /// go; nil for other properties.
    static func counted<Value>(
        _ property: Property<Value>
    ) -> ((borrowing QueueState) -> Value)? {
        if let list = property as? Property<[Operation]>, list.id == operations.id {
            return { state in
                guard let value = state.countedOperations as? Value else {
                    fatalError("unreachable: the type was checked")
                }
                return value
            }
        }
        if let count = property as? Property<Int>, count.id == operationCount.id {
            return { state in
                guard let value = state.countedOperations.count as? Value else {
                    fatalError("unreachable: the type was checked")
                }
                return value
            }
        }
        return nil
    }

    static func advice(for queue: OperationQueue) -> String {
        let names = all.map { "\\." + $0.keys[0] }.joined(separator: ", ")
        return "queue \(queue.name ?? "") has no such property to observe: use one of \(names)"
    }
}
