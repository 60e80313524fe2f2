/// An object that keeps `Observations`: an operation, a queue or a progress.
protocol ObservedObject: KeyValueObserving, Sendable {
    /// The class that declares the properties.
    associatedtype Base: ObservedObject

    /// The object, as an instance of the class that declares the properties.
    var observedBase: Base { get }
    /// The properties that can be observed.
    static var observableProperties: [any AnyObservedProperty] { get }
    /// How messages identify the object.
    var label: String { get }

    /// Returns the observations, which are made when the object is first observed and then kept.
    func observations() -> Observations<Base>

    /// Adds an observer and returns the value before all changes that the observer gets.
    func add<Value>(
        _ observer: Observer<Base, Value>, to property: ObservedProperty<Base, Value>,
        in observations: Observations<Base>
    ) -> Value

    /// An observer was removed.
    func observerRemoved(from observations: Observations<Base>)

    /// Makes sure that changes are recorded. The lock of the observations is held.
    func beginRecording()

    /// No property is observed any more. The lock of the observations is held.
    func endRecording()
}

extension ObservedObject {
    func add<Value>(
        _ observer: Observer<Base, Value>, to property: ObservedProperty<Base, Value>,
        in observations: Observations<Base>
    ) -> Value {
        observations.add(observer, to: property, of: observedBase)
    }

    func observerRemoved(from observations: Observations<Base>) {}
    func beginRecording() {}
    func endRecording() {}

    /// Returns the property at a key path that begins at the class that declares the properties.
    static func property(at keyPath: AnyKeyPath) -> (any AnyObservedProperty)? {
        observableProperties.first { $0.anyKeyPath == keyPath }
    }

    /// Calls a handler with each change of a property, for as long as the returned object is kept.
    /// If there is no such property, the program stops.
    func beginObserving<Value: Sendable>(
        _ property: (any AnyObservedProperty)?, _ options: KeyValueObservingOptions,
        _ changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        guard let property = property as? ObservedProperty<Base, Value> else {
            let names = Self.observableProperties.map { "\\." + $0.keys[0] }
            misuse(
                "\(label) has no such property to observe: use one of "
                    + names.joined(separator: ", "))
        }
        let observer = Observer<Base, Value>(options: options) { object, change in
            // Only this object's observations call the closure.
            changeHandler(unsafeDowncast(object, to: Self.self), change)
        }
        let observations = observations()
        let initial = add(observer, to: property, in: observations)
        observer.begin(observedBase, initial: initial)
        return KeyValueObservation { [weak self] in
            observations.remove(observer, from: property)
            self?.observerRemoved(from: observations)
        }
    }

    /// Observes a property. The returned function returns the present value first, and then the
    /// values that follow; nil when the task was cancelled. The function keeps the object, and the
    /// observation ends when the function is released.
    func values<Value: Sendable>(
        of property: ObservedProperty<Base, Value>,
        buffering policy: AsyncStream<Value>.Continuation.BufferingPolicy
    ) -> ObservedSequence<Value>.Next {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Value.self, bufferingPolicy: policy)
        let observation = beginObserving(property, [.initial, .new]) {
            (_, change: KeyValueObservedChange<Value>) in
            if let value = change.newValue { continuation.yield(value) }
        }
        var iterator = stream.makeAsyncIterator()
        return { [self] in
            defer { withExtendedLifetime((self, observation)) {} }
            return await iterator.next(isolation: #isolation)
        }
    }
}
