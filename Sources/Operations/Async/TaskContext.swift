/// What an async body can ask about where it runs.
enum TaskContext {
    @TaskLocal static var body: AsyncBody?

    /// Tells the current task from others that live at the same time.
    static var currentTask: UInt? {
        withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } }
    }

    static var queue: OperationQueue? { body?.queue }

    /// The operation of which the current task is the body.
    static var operation: Operation? { body?.operation }
}
