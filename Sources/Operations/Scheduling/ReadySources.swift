import OperationsRuntime

/// The sources that have ready entries.
struct ReadySources {
    typealias Reference = Unmanaged<EntrySource>

    private var sources: [Reference] = []

    var isEmpty: Bool {
        @inline(__always) get { sources.isEmpty }
    }

    mutating func insert(_ source: EntrySource) { sources.append(.passUnretained(source)) }

    mutating func remove(_ source: EntrySource) {
        sources.removeAll { $0.toOpaque() == Unmanaged.passUnretained(source).toOpaque() }
    }

    /// Returns the source to continue with: of the highest priority, the one whose operation was
    /// added first.
    ///
    /// - Parameter urgency: the urgency that it must have; nil for any.
    /// - Complexity: O(sources).
    func first(_ urgency: Urgency?) -> (source: Reference, lane: Int)? {
        var best: (source: Reference, lane: Int, place: Int)?
        for source in sources {
            let (lane, place, isWanted) = source._withUnsafeGuaranteedRef { source in
                let state = source.operation.status
                let isWanted = urgency.map { $0 == state.quality.urgency } ?? true
                return (state.lane, source.operation.place, isWanted)
            }
            if let best, (best.lane, -best.place) > (lane, -place) { continue }
            if isWanted { best = (source, lane, place) }
        }
        return best.map { ($0.source, $0.lane) }
    }

    var highestUrgency: Urgency? {
        sources.lazy
            .map { $0._withUnsafeGuaranteedRef { $0.operation.status.quality.urgency } }
            .max()
    }
}

extension QueueState {
    /// Claims ready entries of a source. An operation that has begun goes before operations of its
    /// priority that have not. It gives way to one of a higher priority only if the worker may take
    /// that operation: the worker would take nothing otherwise.
    mutating func claimFromSource(_ claim: Claim, _ urgency: Urgency?, cores: Int) -> Work? {
        guard !ready.sources.isEmpty, slots.mayBegin, let first = ready.sources.first(urgency)
        else {
            return nil
        }
        if ready.count > 0, let best = best(), best.lane > first.lane, let entry = ring[best.place],
            matches(entry, at: best.place, urgency)
        {
            return nil
        }
        return first.source._withUnsafeGuaranteedRef { source in
            claim.claimed(
                of: source, recallEpoch: slots.recallEpoch, urgency: urgency ?? .usual,
                lane: first.lane
            ) { source.fill(&$0, in: &self, cores: cores) }
            // What the end of an entry makes ready follows in the claim.
            slots.holds(lane: first.lane)
            slots.register(claim)
            return .claim
        }
    }
}
