// Observation of a progress. Changes are recorded under the lock of the progress's state, in their
// order, and delivered to observers when that lock is free (`Observations`).

import OperationsRuntime

extension KeyValueObserving where Self: Progress {
    /// Calls a handler with each change of a property, for as long as the returned object is kept.
    ///
    /// ```swift
    /// let observation = progress.observe(\.fractionCompleted, options: [.new]) {
    ///     progress, change in
    ///     print(change.newValue ?? 0)
    /// }
    /// ```
    ///
    /// `fractionCompleted`, `completedUnitCount`, `totalUnitCount`, `isIndeterminate`,
    /// `isFinished` and `isCancelled` can be observed. The handler gets every value that the
    /// property takes, in order, including the values that changes of children bring about. Setting
    /// a property to the value that it has is no change.
    ///
    /// The handler runs on the thread that made the change, with no lock held. There are two
    /// exceptions: if another thread is just delivering changes of this progress, that thread
    /// delivers the change next; and if the change is made inside a handler, it is delivered after
    /// that handler has returned. ``Progress/fractions`` skips values for a reader that is slower
    /// than the changes.
    ///
    /// - Parameters:
    ///   - keyPath: one of the properties above; any other stops the program with a message.
    ///   - options: what a change contains; by default nothing but the fact that there was one.
    ///   - changeHandler: called by one thread at a time.
    public func observe<Value: Sendable>(
        _ keyPath: KeyPath<Progress, Value>, options: KeyValueObservingOptions = [],
        changeHandler: @escaping @Sendable (Self, KeyValueObservedChange<Value>) -> Void
    ) -> KeyValueObservation {
        beginObserving(Self.property(at: keyPath), options, changeHandler)
    }
}

extension Progress: KeyValueObserving, ObservedObject {
    var observedBase: Progress { self }
    static var observableProperties: [any AnyObservedProperty] { ProgressProperties.all }
    var label: String { description }

    func observations() -> Observations<Progress> {
        let new = Observations<Progress>(self)
        return state.withLock { state in
            let observations = state.observations ?? new
            state.observations = observations
            return observations
        }
    }
}

/// The properties of progresses that can be observed.
enum ProgressProperties {
    typealias Property<Value: Sendable> = ObservedProperty<Progress, Value>

    static let fractionCompleted = Property(0, "fractionCompleted", at: \.fractionCompleted)
    static let completedUnitCount = Property(1, "completedUnitCount", at: \.completedUnitCount)
    static let totalUnitCount = Property(2, "totalUnitCount", at: \.totalUnitCount)
    static let isIndeterminate = Property(
        3, "isIndeterminate", "indeterminate", at: \.isIndeterminate)
    static let isFinished = Property(4, "isFinished", "finished", at: \.isFinished)
    static let isCancelled = Property(5, "isCancelled", "cancelled", at: \.isCancelled)

    static let all: [any AnyObservedProperty] = [
        fractionCompleted, completedUnitCount, totalUnitCount, isIndeterminate, isFinished,
        isCancelled,
    ]
}

extension ProgressState {
    /// Records all properties. A property that has not changed reaches no observer.
    func recordChange() {
        guard let observations else { return }
        observations.record {
            observations.recordLocked(ProgressProperties.fractionCompleted, fraction)
            observations.recordLocked(ProgressProperties.completedUnitCount, completed)
            observations.recordLocked(ProgressProperties.totalUnitCount, total)
            observations.recordLocked(ProgressProperties.isIndeterminate, isIndeterminate)
            observations.recordLocked(ProgressProperties.isFinished, isFinished)
            observations.recordLocked(ProgressProperties.isCancelled, isCancelled)
        }
    }
}
