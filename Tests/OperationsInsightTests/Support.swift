import Operations

func block(_ name: String, _ body: @escaping @Sendable () -> Void = {}) -> BlockOperation {
    let operation = BlockOperation(block: body)
    operation.name = name
    return operation
}
