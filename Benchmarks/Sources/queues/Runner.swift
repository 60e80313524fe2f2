/// Runs workloads round by round, each round with all peers in turn, so that other activity on the
/// machine affects all peers equally.
struct Runner {
    let entrants: [Workload.Entrant]
    let rounds: Int
    /// Receives progress messages for people.
    let progress: (String) -> Void

    /// Runs one workload at one size.
    ///
    /// - Parameter smaller: the sizes already measured; a peer that has reached its limit there is
    ///   not measured again.
    func run(_ workload: Workload, size: Int, smaller: [Int]) throws -> Table {
        var rows: [Peer: (size: Int, values: [[Double]])] = [:]
        var remarks: [String] = []
        var active: [(entrant: Workload.Entrant, size: Int)] = []
        for entrant in entrants {
            let limit = workload.limits[entrant.peer]
            let limited = min(size, limit?.size ?? size)
            if let limit, limited < size {
                let isDone = !smaller.isEmpty
                remarks.append(
                    "\(entrant.peer.title): \(isDone ? "no more than above" : "only \(grouped(limited))")"
                        + ", \(limit.reason)")
                if isDone { continue }
            }
            active.append((entrant, limited))
        }
        if workload.warmsUp {
            active = try active.filter { entrant, limited in
                progress("\(workload.name): \(entrant.peer.title) warms up")
                // At full size: memory that a process has used before costs less. The C++ programs
                // run twice for the same reason, and report the second run.
                return try workload.measure(entrant, limited) != nil
            }
        }
        let rounds = min(rounds, workload.maximumRounds)
        for round in 0..<rounds {
            // Each round begins with a different peer.
            for offset in active.indices {
                let (entrant, limited) = active[(offset + round) % active.count]
                progress("\(workload.name): round \(round + 1) of \(rounds), \(entrant.peer.title)")
                guard let values = try workload.measure(entrant, limited) else { continue }
                rows[entrant.peer, default: (limited, [])].values.append(values)
            }
        }
        return Table(
            workload: workload, size: size,
            rows: Peer.allCases.compactMap { peer in
                rows[peer].map { row in
                    Table.Row(
                        peer: peer, size: row.size,
                        spreads: workload.metrics.indices.map { metric in
                            Spread(row.values.map { $0[metric] })
                        })
                }
            },
            remarks: remarks)
    }
}
