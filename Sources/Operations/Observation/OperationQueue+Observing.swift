import Synchronization

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
        beginObserving(Self.property(at: keyPath), options, changeHandler)
    }

    /// Does the same for key paths that begin at a subclass, such as `\DownloadQueue.isSuspended`.
    ///
    /// In a `final` class that overrides the property, such a key path cannot be recognized. Write
    /// `\.isSuspended` instead, which is always recognized.
    @_disfavoredOverload
    public func observe<Value: Sendable>(
        _ keyPath: KeyPath<Self, Value>, options: KeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        let found = Self.observableKeyPaths.first { $0.keyPath == keyPath }
        return beginObserving(found?.property, options, changeHandler)
    }

    /// The properties that can be observed, by the key paths that begin at this class.
    fileprivate static var observableKeyPaths:
        [(keyPath: PartialKeyPath<Self>, property: any AnyObservedProperty)]
    {
        [
            (\.operations, QueueProperties.operations),
            (\.operationCount, QueueProperties.operationCount),
            (\.maxConcurrentOperationCount, QueueProperties.width),
            (\.isSuspended, QueueProperties.isSuspended),
            (\.name, QueueProperties.name),
            (\.qualityOfService, QueueProperties.qualityOfService),
        ]
    }
}

extension OperationQueue: KeyValueObserving, ObservedObject {
    var observedBase: OperationQueue { self }
    static var observableProperties: [any AnyObservedProperty] { QueueProperties.all }

    func observations() -> Observations<OperationQueue> {
        // No other class is a recorder.
        unsafeDowncast(
            recorder { Observations(self) }, to: Observations<OperationQueue>.self)
    }

    func add<Value>(
        _ observer: Observer<OperationQueue, Value>,
        to property: ObservedProperty<OperationQueue, Value>,
        in observations: Observations<OperationQueue>
    ) -> Value {
        if property.isRead { return observations.add(observer, to: property, of: self) }
        return event { state in
            state.beginNotifyingEach()
            let current: Any =
                property.id == QueueProperties.operations.id
                ? state.countedOperations : state.countedOperationCount
            guard let current = current as? Value else {
                fatalError("unreachable: these are the types of the two properties")
            }
            return observations.add(observer, to: property, current: current)
        }
    }

    func observerRemoved(from observations: Observations<OperationQueue>) {
        event { state in
            if !observations.observesAny(of: QueueProperties.countedIDs) {
                state.endNotifyingEach()
            }
        }
    }
}

extension Observations: QueueRecorder where Object == OperationQueue {
    func record(_ change: RecordedQueueChange) {
        switch change {
        case .arrival(let operation):
            record(QueueProperties.operations) { $0 + [operation] }
            record(QueueProperties.operationCount) { $0 + 1 }
        case .departure(let operation):
            record(QueueProperties.operations) { $0.filter { $0 !== operation } }
            record(QueueProperties.operationCount) { $0 - 1 }
        case .isSuspended(let isSuspended): record(QueueProperties.isSuspended, isSuspended)
        case .width(let width): record(QueueProperties.width, width)
        case .name(let name): record(QueueProperties.name, name)
        case .qualityOfService(let quality): record(QueueProperties.qualityOfService, quality)
        }
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

    static let all = OperationQueue.observableKeyPaths.map(\.property)
    static let countedIDs = [operations.id, operationCount.id]
}
