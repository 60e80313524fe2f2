/// The context in which the current async body runs.
enum TaskContext {
    @TaskLocal static var body: AsyncBody?

    /// Identifies the current task among the tasks that exist at the same time.
    static var currentTask: UInt? {
        withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }
    }

    static var queue: OperationQueue? { body?.queue }

    /// The operation whose body the current task runs.
    static var operation: Operation? { body?.operation }
}
