// The queue's side of graphs whose nodes run as blocks. See GraphsOfBlocks.md.

import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// The number of nodes that may follow one another before the owner of a claim looks for other
    /// work.
    private static var mostInARow: Int { 64 }

    /// Takes a run out of its claim. Its nodes run as blocks if this queue can run them so.
    func begin(
        _ run: NodeRun, of claim: Claim, with roots: NodeList
    ) -> QueueState.GraphBeginning {
        let mayUseBlocks = companion == nil && tasks == nil
        return eventOffering {
            $0.begin(run, of: claim, with: roots, mayUseBlocks: mayUseBlocks)
        }
    }

    /// Takes a run out of its claim whose nodes run as operations.
    func detachRun(from claim: Claim) { eventOffering { $0.detachRun(from: claim) } }

    /// Runs the nodes of a claim, and nodes that become ready at their ends.
    @inline(never)
    func runNodes(of claim: Claim, _ run: NodeRun, context: ThreadContext) {
        context.inside(run.operation, of: self) {
            let thread = context.placeOfOperationState
            let place = Unmanaged.passUnretained(claim).toOpaque()
            while let first = takeNext(from: claim, context: context)?.number {
                var next = Optional(first)
                var left = Self.mostInARow
                while let node = next {
                    thread.pointee.blockClaim = place
                    claim.sourceWords.running.store(node, ordering: .relaxed)
                    var outcome = LifecycleState.Outcome.cancelled
                    if !run.isCancelled { outcome = run.run(node) ? .succeeded : .failed }
                    if thread.pointee.blockClaim == nil {
                        outcome = endOperation(of: node, run, outcome, context: context)
                    }
                    left -= 1
                    next = end(node, of: claim, run, outcome, mayFollow: left > 0)
                }
            }
            thread.pointee.blockClaim = nil
        }
    }

    /// Ends a node. Returns the node that follows at once.
    @inline(__always)
    private func end(
        _ node: UInt32, of claim: Claim, _ run: NodeRun,
        _ outcome: LifecycleState.Outcome, mayFollow: Bool
    ) -> UInt32? {
        var following = run.follow(node, outcome)
        claim.sourceWords.countEnded(1 &+ following.skippedCount)
        if !following.others.isEmpty { handOn(following.others, of: claim, run) }
        guard let next = following.first else { return nil }
        if mayFollow, recallEpoch == claim.recallEpoch { return next }
        following.others = NodeList()
        run.append(next, to: &following.others)
        run.keep(following.others, in: claim)
        return nil
    }

    /// Makes ready nodes available to other workers. If these have other work, the claim keeps the
    /// nodes until a thread takes the queue's lock for it.
    private func handOn(_ nodes: NodeList, of claim: Claim, _ run: NodeRun) {
        if hasCompetingWork, recallEpoch == claim.recallEpoch {
            run.keep(nodes, in: claim)
            WorkerPool.watchClaims()
        } else {
            eventOffering { $0.insert(nodes, of: run) }
        }
    }

    /// Ends the operation that was made for a node which has run.
    @inline(never)
    private func endOperation(
        of node: UInt32, _ run: NodeRun, _ outcome: LifecycleState.Outcome,
        context: ThreadContext
    ) -> LifecycleState.Outcome {
        guard let operation = context.leaveEntry()?.takeRetainedValue() else { return outcome }
        return run.endOperation(operation, of: node, outcome)
    }
}
