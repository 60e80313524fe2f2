// Graphs whose nodes run as blocks. See GraphsOfBlocks.md.

import OperationsRuntime
import Synchronization

/// Ready nodes of one run of a graph, in the order in which they are to start. The links are in the
/// words of the nodes.
struct NodeList {
    /// In place of a node: there is none.
    static var none: UInt32 { Claim.SourceWords.none }

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

extension QueueState {
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
        // The ring keeps the run.
        detachLast(from: claim).release()
    }

    /// Adds ready nodes, before the others.
    mutating func insert(_ nodes: NodeList, of run: NodeRun) {
        // The nodes of a cancelled run do not run.
        guard !nodes.isEmpty, run.progress.phase == .running, !run.isCancelled else {
            return
        }
        if run.progress.ready.isEmpty {
            ready.sources.insert(run)
            run.progress.ready = nodes
        } else {
            run.link(nodes.last, before: run.progress.ready.first)
            run.progress.ready.first = nodes.first
            run.progress.ready.count += nodes.count
        }
        if run.operation.status.lane > slots.lowestClaimedLane { slots.recall() }
    }

    /// Returns a number that changes when a node of a run begins or ends.
    func mark(of run: NodeRun) -> UInt64 {
        let reference = Unmanaged<EntrySource>.passUnretained(run).toOpaque()
        var mark = UInt64(truncatingIfNeeded: run.progress.unfinished) << 32
        for claim in slots.claims where claim.source?.toOpaque() == reference {
            mark &-= UInt64(truncatingIfNeeded: claim.sourceWords.endedCount) << 32
            mark &+= UInt64(claim.sourceWords.running.load(ordering: .relaxed))
        }
        return mark
    }

    /// Returns the nodes of a run that run as blocks, or have just ended, and their claims.
    func runningNodes(of run: NodeRun) -> [(node: UInt32, claim: Claim)] {
        guard run.progress.phase == .running else { return [] }
        let reference = Unmanaged<EntrySource>.passUnretained(run).toOpaque()
        return slots.claims.compactMap { claim in
            guard claim.source?.toOpaque() == reference else { return nil }
            let node = claim.sourceWords.running.load(ordering: .relaxed)
            return node == NodeList.none ? nil : (node, claim)
        }
    }

    /// Returns what the nodes of a run do; nil if they do not run as blocks.
    mutating func nodes(
        of run: NodeRun
    ) -> (unfinished: Int, running: [UInt32], ready: Int)? {
        guard run.progress.phase == .running else { return nil }
        let reference = Unmanaged<EntrySource>.passUnretained(run).toOpaque()
        let claims = slots.claims.filter { $0.source?.toOpaque() == reference }
        for claim in claims { insertKept(by: claim, of: run) }
        return (
            run.progress.unfinished - claims.reduce(0) { $0 + $1.sourceWords.endedCount },
            runningNodes(of: run).map(\.node), run.progress.ready.count
        )
    }

    /// Adds the ready nodes that a claim keeps.
    mutating func insertKept(by claim: Claim, of run: NodeRun) {
        insert(run.takeKept(by: claim), of: run)
    }

    /// Ends a run if no node of it can run any more. Drops the nodes of a cancelled run that no
    /// claim holds. Returns whether the run is over.
    ///
    /// A run may be cancelled while the lock is held, between an insertion of nodes and this.
    mutating func ends(_ run: NodeRun) -> Bool {
        guard run.progress.phase == .running else { return false }
        let isCancelled = run.isCancelled
        if isCancelled, !run.progress.ready.isEmpty {
            ready.sources.remove(run)
            run.progress.ready = NodeList()
        }
        guard run.progress.claimCount == 0, run.progress.unfinished == 0 || isCancelled else {
            return false
        }
        run.progress.phase = .over
        return true
    }
}
