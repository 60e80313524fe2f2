extension OperationQueue {
    /// Adds a run of a graph of blocks, as one operation, without waiting.
    ///
    /// ```swift
    /// let run = try queue.add(graph)
    /// report.addDependency(run)
    /// let results = try await run.value
    /// ```
    ///
    /// The value of the operation gives the results of all nodes. If a node fails and no other node
    /// handles the failure (``DependencyCondition/failure``), the operation fails with the first
    /// such error, once all nodes have ended that do not depend on its success. Cancelling the
    /// operation cancels the run: no further node begins, and ``Operation/isCancelled-property`` is
    /// true for the ``Operation/current`` operation of the nodes that run.
    ///
    /// - Parameters:
    ///   - graph: the graph. Later changes of the variable do not affect the run.
    ///   - traits: settings of the operation. Its name is the name of the graph, unless a trait
    ///     says otherwise.
    /// - Throws: see ``BlockGraph/validate()``.
    @discardableResult
    public final func add(
        _ graph: BlockGraph, _ traits: any OperationTraitOrName...
    ) throws(OperationGraphError) -> TypedOperation<BlockGraph.Results> {
        take(BlockGraphRun(try graph.sealed()), traits)
    }

    /// Runs a graph of blocks once, and returns the results of its nodes when all have ended.
    ///
    /// The graph can be run again, and several runs can go on at the same time. If the calling task
    /// is cancelled, the run is cancelled, too.
    ///
    /// - Throws: ``OperationGraphError`` before any node has run, see ``BlockGraph/validate()``.
    ///   Otherwise the first error of a node whose failure no other node handles. Otherwise
    ///   `CancellationError` if the task was cancelled, or ``OperationCancellation`` about a node
    ///   that was cancelled.
    @discardableResult
    public final func run(_ graph: BlockGraph) async throws -> BlockGraph.Results {
        let run = BlockGraphRun(try graph.sealed())
        return try await withTaskCancellationHandler {
            addOperation(run)
            await run.waitUntilFinished()
            do {
                return try run.result
            } catch let error as OperationCancellation {
                if case .taskCancelled = error.reason { throw CancellationError() }
                throw error
            }
        } onCancel: {
            run.cancel(because: .taskCancelled)
        }
    }
}

extension OperationGraphBuilder {
    /// A graph of blocks, which runs as one operation.
    public static func buildExpression(_ graph: BlockGraph) -> [OperationGraph.Part] {
        [OperationGraph.Part(BlockGraphRun(unchecked: graph))]
    }
}
