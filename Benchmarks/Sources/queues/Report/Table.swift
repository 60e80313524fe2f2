/// The results of one workload at one size.
struct Table {
    let workload: Workload
    let size: Int
    let rows: [Row]
    let remarks: [String]

    struct Row {
        let peer: Peer
        let size: Int
        /// One spread for each of the workload's metrics.
        let spreads: [Spread]
    }

    /// The ratio of a row to the median of our own row; nil for our own row, or if there is none.
    func ratio(of row: Row, metric: Int) -> Spread? {
        guard row.peer != .operations, let ours = rows.first(where: { $0.peer == .operations })
        else { return nil }
        return row.spreads[metric] / ours.spreads[metric].median
    }
}

extension Table {
    /// The text for people: a heading, then a line for each peer and metric; at most 80 columns.
    func text(isColored: Bool) -> String {
        var lines = ["\(workload.name)  \(workload.title), N = \(grouped(size))"]
        if isColored { lines[0] = "\u{1B}[1m\(lines[0])\u{1B}[0m" }
        for (index, metric) in workload.metrics.enumerated() where !rows.isEmpty {
            lines.append(
                "    " + metric.title.padded(20) + "median".padded(-11) + "min – max".padded(-24)
                    + "÷ ours".padded(-11))
            for row in rows { lines.append(line(row, index, isColored)) }
        }
        return (lines + remarks.map { "    \($0)" }).joined(separator: "\n")
    }

    private func line(_ row: Row, _ metric: Int, _ isColored: Bool) -> String {
        let spread = row.spreads[metric]
        let name =
            row.size == size
            ? row.peer.title : "\(row.peer.title) (\(grouped(row.size)))"
        var line = "    " + name.padded(20) + figure(spread.median).padded(-11)
        line += "\(figure(spread.min)) – \(figure(spread.max))".padded(-24)
        guard let ratio = ratio(of: row, metric: metric)?.median else { return line }
        let text = "\(figure(ratio)) ×".padded(-11)
        guard isColored else { return line + text }
        return line + "\u{1B}[\(ratio < 1 ? 31 : 32)m\(text)\u{1B}[0m"
    }

    /// The JSON for programs: one object per line.
    var json: String {
        rows.flatMap { row in
            zip(workload.metrics, row.spreads).map { metric, spread in
                let variant = workload.variant.map { #""variant":"\#($0)","# } ?? ""
                return #"{"workload":"\#(workload.name)",\#(variant)"n":\#(row.size),"#
                    + #""peer":"\#(row.peer.rawValue)","metric":"\#(metric.key)","#
                    + #""median":\#(spread.median),"min":\#(spread.min),"max":\#(spread.max)}"#
            }
        }.joined(separator: "\n")
    }
}
