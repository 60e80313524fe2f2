/// One table of all results: a line for each, with our median and each peer's ratio to it.
enum Summary {
    static func text(_ tables: [Table], peers: [Peer]) -> String {
        let others = peers.filter { $0 != .operations }
        var lines = [
            "Each peer's figures as multiples of ours (above 1: ours is better)", "",
            "".padded(6) + "N".padded(-11) + "ours".padded(-11)
                + others.map { $0.title.padded(-11) }.joined(),
        ]
        for table in tables {
            for metric in table.workload.metrics.indices {
                guard let ours = table.rows.first(where: { $0.peer == .operations }) else {
                    continue
                }
                let ratios = others.map { peer in
                    table.rows.first { $0.peer == peer }
                        .flatMap { table.ratio(of: $0, metric: metric)?.median }
                        .map { figure($0) } ?? "·"
                }
                // A separate label if the rows of a workload differ in kind.
                let label = [
                    table.workload.variant,
                    table.workload.metrics.count > 1 ? table.workload.metrics[metric].key : nil,
                ].compactMap(\.self).joined(separator: " ")
                lines.append(
                    table.workload.name.padded(6) + grouped(table.size).padded(-11)
                        + figure(ours.spreads[metric].median).padded(-11)
                        + ratios.map { $0.padded(-11) }.joined()
                        + (label.isEmpty ? "" : "  \(label)"))
            }
        }
        return lines.joined(separator: "\n")
    }
}
