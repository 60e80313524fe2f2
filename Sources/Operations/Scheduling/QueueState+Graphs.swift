// Graphs whose nodes run as blocks. See GraphsOfBlocks.md.

import OperationsRuntime
import Synchronization

/// Ready nodes of one run of a graph, in the order in which they are to start. The links are in the
/// words of the nodes.
struct NodeList {
    /// In place of a node: there is none.
    static var none: UInt32 { .max }

    var first = Self.none
    var last = Self.none
    var count = 0

    var isEmpty: Bool {
        @inline(__always) get { count == 0 }
    }
}

/// What a queue knows about a run whose nodes run as blocks.
struct GraphProgress {
    enum Phase { case pending, running, over }

    var phase = Phase.pending
    var ready = NodeList()
    /// The number of nodes that have not ended.
    var unfinished = 0
    /// The number of claims that hold nodes of the run.
    var claimCount = 0
}

/// The runs that have ready nodes.
struct ReadyGraphs {
    typealias Reference = Unmanaged<NodeRun>

    private var runs: [Reference] = []

    var isEmpty: Bool {
        @inline(__always) get { runs.isEmpty }
    }

    mutating func insert(_ run: NodeRun) { runs.append(.passUnretained(run)) }

    mutating func remove(_ run: NodeRun) {
        runs.removeAll { $0.toOpaque() == Unmanaged.passUnretained(run).toOpaque() }
    }

    /// Returns the run to continue with: of the highest priority, the one that was added first.
    ///
    /// - Parameter urgency: the urgency that it must have; nil for any.
    /// - Complexity: O(runs).
    func first(_ urgency: Urgency?) -> (run: Reference, lane: Int)? {
        var best: (run: Reference, lane: Int, place: Int)?
        for run in runs {
            let (lane, place, isWanted) = run._withUnsafeGuaranteedRef { run in
                let state = run.operation.status
                let isWanted = urgency.map { $0 == state.quality.urgency } ?? true
                return (state.lane, run.operation.place, isWanted)
            }
            if let best, (best.lane, -best.place) > (lane, -place) { continue }
            if isWanted { best = (run, lane, place) }
        }
        return best.map { ($0.run, $0.lane) }
    }

    var highestUrgency: Urgency? {
        runs.lazy.map { $0._withUnsafeGuaranteedRef { $0.operation.status.quality.urgency } }.max()
    }
}

extension QueueState {
    // MARK: Beginning

    enum GraphBeginning {
        case asBlocks
        case asOperations
        /// There is nothing to run.
        case withoutNodes
    }

    /// Takes a run, which has begun, out of its claim. The run leaves the queue by itself. Until
    /// then the ring keeps it alive.
    ///
    /// - Parameter roots: the nodes that come after none.
    mutating func begin(
        _ run: NodeRun, of claim: Claim, with roots: NodeList, mayUseBlocks: Bool
    ) -> GraphBeginning {
        detachRun(from: claim)
        guard mayUseBlocks, takesBlocks else { return .asOperations }
        guard run.rows.count > 0, !run.isCancelled else {
            run.progress.phase = .over
            return .withoutNodes
        }
        run.progress.phase = .running
        run.progress.unfinished = run.rows.count
        insert(roots, of: run)
        return .asBlocks
    }

    /// Takes a run, which has begun, out of its claim. The rest goes back: the nodes go before it.
    mutating func detachRun(from claim: Claim) {
        // The counts of the nodes were copied, which says nothing about the next operations.
        claim.hasMisleadingTime = true
        returnRest(of: claim)
        claim.takeOutLast()._withUnsafeGuaranteedRef {
            _ = $0.exchange { $0.detachedFromBatch() }
        }
    }

    /// Adds ready nodes, before the others.
    mutating func insert(_ nodes: NodeList, of run: NodeRun) {
        // The nodes of a cancelled run do not run.
        guard !nodes.isEmpty, run.progress.phase == .running, !run.isCancelled else {
            return
        }
        if run.progress.ready.isEmpty {
            graphs.insert(run)
            run.progress.ready = nodes
        } else {
            run.link(nodes.last, before: run.progress.ready.first)
            run.progress.ready.first = nodes.first
            run.progress.ready.count += nodes.count
        }
        if run.operation.status.lane > lowestClaimedLane { recallClaims() }
    }

    // MARK: Claims

    /// Claims ready nodes. A graph that has begun goes before operations of its priority that have
    /// not. It gives way to one of a higher priority only if the worker may take that operation:
    /// the worker would take nothing otherwise.
    mutating func claimNodes(_ claim: Claim, _ urgency: Urgency?, cores: Int) -> Work? {
        guard !graphs.isEmpty, !isSuspended, hasFreeSlot, let first = graphs.first(urgency) else {
            return nil
        }
        if readyCount > 0, let best = best(), best.lane > first.lane, let entry = ring[best.place],
            matches(entry, at: best.place, urgency)
        {
            return nil
        }
        return first.run._withUnsafeGuaranteedRef { run in
            var left = batchSize(of: run.progress.ready.count, cores: cores)
            claim.claimed(
                nodesOf: run, recallEpoch: recallEpoch, urgency: urgency ?? .usual,
                lane: first.lane
            ) {
                guard left > 0, !run.progress.ready.isEmpty else { return nil }
                left -= 1
                return run.takeReady()
            }
            if run.progress.ready.isEmpty { graphs.remove(run) }
            run.progress.claimCount += 1
            // What the end of a node makes ready follows in the claim.
            lowestClaimedLane = min(lowestClaimedLane, first.lane)
            running += 1
            claims.append(claim)
            return .claim
        }
    }

    /// Takes back the nodes that the owner of a claim has not begun.
    mutating func returnNodes(of claim: Claim, _ graph: Unmanaged<NodeRun>) {
        insertKeptNodes(of: claim, graph)
        graph._withUnsafeGuaranteedRef { run in
            var rest = NodeList()
            claim.reclaimRest { entry, _ in
                if let node = entry.node { run.append(node, to: &rest) }
            }
            insert(rest, of: run)
        }
    }

    mutating func insertKeptNodes(of claim: Claim, _ graph: Unmanaged<NodeRun>) {
        graph._withUnsafeGuaranteedRef { run in insert(claim.takeKeptNodes(of: run), of: run) }
    }

    /// Counts the nodes of a retired claim as ended. Returns the run if it is over.
    mutating func retireNodes(
        of claim: Claim, _ graph: Unmanaged<NodeRun>
    ) -> Unmanaged<NodeRun>? {
        let run = graph._withUnsafeGuaranteedRef { $0 }
        run.progress.unfinished -= claim.endedNodeCount
        run.progress.claimCount -= 1
        return ends(run) ? graph : nil
    }

    /// Returns what the nodes of a run do; nil if they do not run as blocks.
    mutating func nodes(
        of run: NodeRun
    ) -> (unfinished: Int, running: [UInt32], ready: Int)? {
        guard run.progress.phase == .running else { return nil }
        let reference = Unmanaged.passUnretained(run)
        let claims = claims.filter { $0.graph?.toOpaque() == reference.toOpaque() }
        for claim in claims { insertKeptNodes(of: claim, reference) }
        let running = claims.map { $0.node.load(ordering: .relaxed) }
        return (
            run.progress.unfinished - claims.reduce(0) { $0 + $1.endedNodeCount },
            running.filter { $0 != NodeList.none }, run.progress.ready.count
        )
    }

    /// Ends a run if no node of it can run any more. Drops the nodes of a cancelled run that no
    /// claim holds.
    ///
    /// A run may be cancelled while the lock is held, between an insertion of nodes and this.
    private mutating func ends(_ run: NodeRun) -> Bool {
        guard run.progress.phase == .running else { return false }
        let isCancelled = run.isCancelled
        if isCancelled, !run.progress.ready.isEmpty {
            graphs.remove(run)
            run.progress.ready = NodeList()
        }
        guard run.progress.claimCount == 0, run.progress.unfinished == 0 || isCancelled else {
            return false
        }
        run.progress.phase = .over
        return true
    }

    /// Drops the nodes of a cancelled run that no claim holds. Returns whether the run is over.
    mutating func cancelNodes(of run: NodeRun) -> Bool { ends(run) }
}

extension NodeRun {
    /// Removes the first of the ready nodes. The queue's lock is held.
    @inline(__always)
    fileprivate func takeReady() -> UInt32 {
        let node = progress.ready.first
        progress.ready.first = next(after: node)
        progress.ready.count -= 1
        return node
    }
}
