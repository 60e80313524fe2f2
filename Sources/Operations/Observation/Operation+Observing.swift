import Synchronization

extension KeyValueObserving where Self: Operation {
    /// Calls a handler with each change of a property, for as long as the returned object is kept.
    ///
    /// ```swift
    /// let observation = operation.observe(\.isFinished, options: [.new]) {
    ///     operation, change in …
    /// }
    /// ```
    ///
    /// These properties can be observed: `isCancelled`, `isExecuting`, `isFinished`, `isReady`,
    /// `isAsynchronous`, `isConcurrent`, `dependencies`, `queuePriority`, `completionBlock`,
    /// `name`, `qualityOfService` and `threadPriority`. A subclass that overrides one of them
    /// announces its changes with ``Operation/didChangeValue(forKey:)``; observers get the value
    /// that the override returns.
    ///
    /// Observers are notified of every change once, in the order of the changes, also across the
    /// properties of one operation. Setting a property to the value that it has is no change.
    /// Observers are also notified of each announcement of a subclass, even if the value is the
    /// same before and after it, and of each change of the class's own state that an override
    /// hides: when the last dependency goes, observers of `isReady` are notified although an
    /// override still returns false. ``Operation/cancel()`` announces `isReady` beside
    /// `isCancelled` of an operation that has not begun.
    ///
    /// The handler runs on the thread that made the change, with no lock held, before the method
    /// that made the change returns. There are two exceptions: if another thread is just delivering
    /// changes of this operation, that thread delivers the change; and if the change is made inside
    /// a handler, it is delivered once that handler has returned. The handler may do anything
    /// except wait for the operation before its end, or wait for other operations of a queue that
    /// has no free slot but the operation's: the operation may hold that slot until the handler has
    /// returned. Observers of `isFinished` are notified when the operation has left its queue,
    /// before its dependents start and before its completion block runs. If another thread is
    /// delivering changes and takes this one over, the notification may come at the same time as
    /// these.
    ///
    /// While an operation is observed it keeps its list of dependencies, even after dependents of
    /// it have finished.
    ///
    /// - Parameters:
    ///   - keyPath: one of the properties above; any other stops the program.
    ///   - options: what a change contains; by default nothing but the fact that there was one.
    ///   - changeHandler: called by one thread at a time.
    public func observe<Value: Sendable>(
        _ keyPath: KeyPath<Operation, Value>, options: KeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        beginObserving(Self.property(at: keyPath), options, changeHandler)
    }

    /// Does the same for key paths that begin at a subclass, such as `\Download.isFinished`.
    ///
    /// In a `final` class that overrides the property, such a key path cannot be recognized. Write
    /// `\.isFinished` instead, which is always recognized.
    @_disfavoredOverload
    public func observe<Value: Sendable>(
        _ keyPath: KeyPath<Self, Value>, options: KeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        beginObserving(Self.ownProperty(at: keyPath), options, changeHandler)
    }

    /// Returns the property of the base class that a key path of a subclass leads to.
    static func ownProperty(at keyPath: PartialKeyPath<Self>) -> (any AnyObservedProperty)? {
        observableKeyPaths.first { $0.keyPath == keyPath }?.property
    }

    /// The properties that can be observed, by the key paths that begin at this class.
    fileprivate static var observableKeyPaths:
        [(keyPath: PartialKeyPath<Self>, property: any AnyObservedProperty)]
    {
        [
            (\.isCancelled, OperationProperties.isCancelled),
            (\.isExecuting, OperationProperties.isExecuting),
            (\.isFinished, OperationProperties.isFinished),
            (\.isReady, OperationProperties.isReady),
            (\.isAsynchronous, OperationProperties.isAsynchronous),
            (\.isConcurrent, OperationProperties.isConcurrent),
            (\.dependencies, OperationProperties.dependencies),
            (\.queuePriority, OperationProperties.queuePriority),
            (\.completionBlock, OperationProperties.completionBlock),
            (\.name, OperationProperties.name),
            (\.qualityOfService, OperationProperties.qualityOfService),
            (\.threadPriority, OperationProperties.threadPriority),
        ]
    }
}

extension Operation: KeyValueObserving, ObservedObject {
    var observedBase: Operation { self }
    static var observableProperties: [any AnyObservedProperty] { OperationProperties.all }

    func observations() -> Observations<Operation> {
        withExtras { extras in
            // No other class is a recorder.
            if let recorder = extras.recorder {
                return unsafeDowncast(recorder, to: Observations<Operation>.self)
            }
            let observations = Observations(self)
            extras.recorder = observations
            return observations
        }
    }

    func beginRecording() { lifecycle.insert([.observed, .hasEndObservers]) }
    func endRecording() { lifecycle.remove(.observed) }
}

/// The properties of operations that can be observed.
enum OperationProperties {
    typealias Property<Value: Sendable> = ObservedProperty<Operation, Value>

    static let isCancelled = Property(
        0, "isCancelled", "cancelled", at: \.isCancelled, notifiesEach: true)
    static let isExecuting = Property(
        1, "isExecuting", "executing", at: \.isExecuting, notifiesEach: true)
    static let isFinished = Property(
        2, "isFinished", "finished", at: \.isFinished, notifiesEach: true)
    static let isReady = Property(3, "isReady", "ready", at: \.isReady, notifiesEach: true)
    static let isAsynchronous = Property(4, "isAsynchronous", "asynchronous", at: \.isAsynchronous)
    static let isConcurrent = Property(5, "isConcurrent", "concurrent", at: \.isConcurrent)
    static let dependencies = Property(6, "dependencies", at: \.dependencies)
    static let queuePriority = Property(7, "queuePriority", at: \.queuePriority)
    static let completionBlock = Property<(@Sendable () -> Void)?>(
        id: 8, keys: ["completionBlock"], keyPath: \.completionBlock
    ) { $0 == nil && $1 == nil }  // Closures cannot be compared: each that is set is a change.
    static let name = Property(9, "name", at: \.name)
    static let qualityOfService = Property(10, "qualityOfService", at: \.qualityOfService)
    static let threadPriority = Property(11, "threadPriority", at: \.threadPriority)
    /// The state for `Operation.states`, which has no public key path.
    static let state = Property(12, at: \.observedState)

    static let all = Operation.observableKeyPaths.map(\.property)

    /// Returns the property that a key announces.
    static func find(_ key: String) -> (any AnyObservedProperty)? {
        switch key {
        case "isFinished", "finished": isFinished
        case "isExecuting", "executing": isExecuting
        case "isReady", "ready": isReady
        default: all.first { $0.keys.contains(key) }
        }
    }
}
