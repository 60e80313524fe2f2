// Operations whose bodies run on the main actor. A worker of the queue takes the operation, which
// keeps its slot from its start until the body has returned on the main actor.

import OperationsRuntime

/// Methods of queues that differ from a method of the class only in the actor of a closure.
///
/// Two methods of one type cannot differ in that alone, so these belong to a protocol. For a
/// closure of no actor the compiler prefers the method of the class.
public protocol _OperationQueueMembers: OperationQueue {}

extension OperationQueue: _OperationQueueMembers {}

extension _OperationQueueMembers {
    /// Adds a block that runs on the main actor, as an operation with the queue's quality of
    /// service.
    ///
    /// ```swift
    /// queue.addOperation { @MainActor in label.text = "done" }
    /// ```
    ///
    /// The operation takes a slot of the queue's width while its block waits for the main actor, so
    /// a main actor that stays busy holds up a narrow queue.
    public func addOperation(_ block: @escaping @MainActor @Sendable () -> Void) {
        add(body: block)
    }

    /// Adds a function that runs on the main actor, as an operation with a result.
    ///
    /// The operation keeps its slot of the queue's width while its body waits for the main actor.
    @_documentation(visibility: internal)
    @discardableResult
    public func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        body: @escaping @MainActor @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        take(made(onMainActor: body).at(file, line), traits)
    }

    /// Adds a function that runs on the main actor after other operations, with their results.
    ///
    /// ```swift
    /// queue.add(after: picture) { @MainActor picture in view.show(picture) }
    /// ```
    @_documentation(visibility: internal)
    @discardableResult
    public func add<Output: Sendable, First: Sendable, each Rest: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: TypedOperation<First>, _ rest: repeat TypedOperation<each Rest>,
        body: @escaping @MainActor @Sendable (First, repeat each Rest) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        let operation = made(onMainActor: { try body(first.result, repeat (each rest).result) })
        operation.depend(on: first, repeat each rest)
        return take(operation.at(file, line), traits)
    }

    /// Adds a function that runs on the main actor after any number of operations of one type, with
    /// their results.
    @_documentation(visibility: internal)
    @discardableResult
    public func add<Output: Sendable, Input: Sendable>(
        _ traits: any OperationTraitOrName..., after inputs: [TypedOperation<Input>],
        body: @escaping @MainActor @Sendable ([Input]) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        let operation = made(onMainActor: { try body(inputs.map { try $0.result }) })
        operation.depend(on: inputs)
        return take(operation.at(file, line), traits)
    }

    /// Adds a function that runs on the main actor after another operation, whatever its result is.
    @_documentation(visibility: internal)
    @discardableResult
    @_disfavoredOverload
    public func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after operation: Operation,
        on condition: DependencyCondition = .success,
        body: @escaping @MainActor @Sendable (()) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: condition,
            made(onMainActor: { try body(()) }).at(file, line))
    }

    /// Adds a function that runs on the main actor after other operations, whatever their results
    /// are.
    @_documentation(visibility: internal)
    @discardableResult
    @_disfavoredOverload
    public func add<Output: Sendable>(
        _ traits: any OperationTraitOrName...,
        after first: Operation, _ second: Operation, _ rest: Operation...,
        on condition: DependencyCondition = .success,
        body: @escaping @MainActor @Sendable () throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [first, second] + rest, on: condition,
            made(onMainActor: body).at(file, line))
    }

    /// Adds a function that runs on the main actor after a list of operations, whatever their
    /// results are.
    @_documentation(visibility: internal)
    @discardableResult
    @_disfavoredOverload
    public func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., after operations: [Operation],
        on condition: DependencyCondition = .success,
        body: @escaping @MainActor @Sendable (()) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: operations, on: condition,
            made(onMainActor: { try body(()) }).at(file, line))
    }

    /// Adds a function that runs on the main actor if another operation fails, with the error.
    @_documentation(visibility: internal)
    @discardableResult
    public func add<Output: Sendable>(
        _ traits: any OperationTraitOrName..., onFailureOf operation: Operation,
        body: @escaping @MainActor @Sendable (any Error) throws -> Output,
        file: StaticString = #fileID, line: UInt = #line
    ) -> TypedOperation<Output> {
        add(
            traits, after: [operation], on: .failure,
            made(onMainActor: { try body(try operation.failureToHandle) }).at(file, line))
    }
}

extension OperationQueue {
    /// Not available: the other `addOperation(_:)` takes a block that neither throws nor awaits.
    @available(
        *, unavailable,
        message: "addOperation takes a block that neither throws nor awaits: use add { … }"
    )
    @_disfavoredOverload
    public final func addOperation(_ block: @escaping @Sendable () async throws -> Void) {
        add(body: block)
    }
}

extension OperationQueue {
    /// Makes an operation whose body runs on the main actor.
    ///
    /// Under a driver the body is one step, as any other function that is not async.
    final func made<Output: Sendable>(
        onMainActor body: @escaping @MainActor @Sendable () throws -> Output
    ) -> TypedOperation<Output> {
        guard let driver else { return TypedOperation(onMainActor: body) }
        return TypedOperation { () throws -> Output in
            let (operation, queue) = (Operation.current, OperationQueue.current)
            let result = Locked<Result<Output, any Error>?>(nil)
            driver.performOnMainActor {
                // The main actor may have another thread.
                ThreadContext.current.inside(operation, of: queue) {
                    let value = Result { try MainActor.assumeIsolated(body) }
                    result.replace(with: value)
                }
            }
            guard let value = result.withLock({ $0 }) else {
                misuse("\(self.label) has a driver that did not run a body of the main actor")
            }
            return try value.get()
        }
    }
}

extension TypedOperation {
    /// Makes an operation whose body runs on the main actor.
    convenience init(onMainActor body: @escaping @MainActor @Sendable () throws -> Output) {
        let onMainActor: @MainActor @Sendable () throws -> Output = {
            MainActorBodies.bodyBegins()
            return try body()
        }
        let hop: nonisolated(nonsending) @Sendable () async throws -> Output = {
            MainActorBodies.bodyWaits()
            return try await onMainActor()
        }
        self.init(body: hop)
    }
}
