import Operations

/// Short names for the throwing twins, so that renaming a twin changes this file only.
enum Checked {
    typealias Misuse = OperationMisuse

    static func start(_ operation: Operation) throws {
        try operation.startChecked()
    }

    static func add(_ operation: Operation, to queue: OperationQueue) throws {
        try queue.addOperationChecked(operation)
    }

    static func add(_ operations: [Operation], to queue: OperationQueue) throws {
        try queue.addOperationsChecked(operations)
    }

    static func addDependency(_ dependency: Operation, to operation: Operation) throws {
        try operation.addDependencyChecked(dependency)
    }

    static func addBlock(
        _ block: @escaping @Sendable () -> Void, to operation: BlockOperation
    ) throws {
        try operation.addExecutionBlockChecked(block)
    }

    static func setWidth(_ width: Int, of queue: OperationQueue) throws {
        try queue.setMaxConcurrentOperationCountChecked(width)
    }

    /// Returns the description of the error that `body` throws, or nil if `body` throws nothing.
    static func message(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch let error as Misuse {
            return error.description
        } catch {
            return "another error: \(error)"
        }
    }
}
