import OperationsRuntime

/// The context in which the current async body runs.
enum TaskContext {
    @TaskLocal static var body: (any RunningBody)?

    static var queue: OperationQueue? { body?.queue }

    /// The operation whose body the current task runs.
    static var operation: Operation? { body?.operation }
}

extension PoolExecutor {
    /// The executor to prefer for code that is to run on the workers. Nil inside a body or a child
    /// task of a body: these run on the workers already, with the urgency of the operation.
    static var unlessInBody: PoolExecutor? {
        guard let own = TaskContext.body?.executor else { return .shared }
        let current = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
        return current == own.asUnownedTaskExecutor() ? nil : .shared
    }
}
