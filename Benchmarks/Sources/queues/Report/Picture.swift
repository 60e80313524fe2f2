import Foundation

/// The picture of results, as SVG: a line for each, on which a dot shows how many times as long as
/// ours each peer takes. The scale is logarithmic, and our median is the line at 1. A bar goes from
/// the fastest round of a peer to its slowest one; a black bar has our own rounds.
struct Picture {
    /// One of the results, in words that need no table of workloads.
    struct Row {
        let workload: Workload
        let size: Int
        var metric = 0
        let words: String
        let unit: String

        /// The results that a person who chooses a queue asks for first.
        static let six = [
            Row(
                workload: .closures, size: 100_000,
                words: "Add a block, run it, end it", unit: "ns"),
            Row(
                workload: Workload.chains[0], size: 10_000,
                words: "One operation after the other, in a chain", unit: "ns a step"),
            Row(
                workload: Workload.layers[0], size: 10_000,
                words: "An operation after four others, in a graph", unit: "ns"),
            Row(
                workload: Workload.asynchronous[0], size: 100_000,
                words: "An async body that is suspended once", unit: "ns"),
            Row(
                workload: .latency, size: 200,
                words: "From adding to an idle queue to the first instruction", unit: "µs"),
            Row(
                workload: .memory, size: 1_000_000,
                words: "Memory of a block that waits", unit: "bytes"),
        ]

        func isOf(_ table: Table) -> Bool {
            table.workload.name == workload.name && table.workload.title == workload.title
                && table.size == size
        }
    }

    private struct Line {
        let title: String
        let note: String
        /// Our own rounds, as ratios to their median.
        let own: Spread
        let ratios: [(peer: Peer, ratio: Spread)]
    }

    private let lines: [Line]
    private let peers: [Peer]
    private let range: ClosedRange<Int>

    private static let width = 1_100.0
    private static let plot = 520.0...1_070.0
    private static let top = 128.0
    private let step: Double
    private let isShort: Bool

    /// - Parameter rows: the results to show, in their order; all by default.
    init(_ tables: [Table], rows: [Row]? = nil) {
        isShort = rows != nil
        step = isShort ? 36 : 24
        if let rows {
            lines = rows.compactMap { row in
                tables.first(where: row.isOf).flatMap { Self.line($0, metric: row.metric, row) }
            }
        } else {
            lines = tables.flatMap { table in
                table.workload.metrics.indices.compactMap { Self.line(table, metric: $0) }
            }
        }
        let found = lines.flatMap(\.ratios)
        peers = Peer.allCases.filter { peer in found.contains { $0.peer == peer } }
        let exponents = found.map { log10(max($0.ratio.median, 0.001)) } + [0]
        range =
            Int((exponents.min() ?? 0).rounded(.down))...Int((exponents.max() ?? 0).rounded(.up))
    }

    private static func line(_ table: Table, metric: Int, _ row: Row? = nil) -> Line? {
        guard let ours = table.rows.first(where: { $0.peer == .operations }) else { return nil }
        let ratios = table.rows.compactMap { row in
            // A peer that was measured at another size is not comparable.
            row.size != table.size
                ? nil : table.ratio(of: row, metric: metric).map { (row.peer, $0) }
        }
        guard !ratios.isEmpty else { return nil }
        let own = ours.spreads[metric]
        let kind =
            table.workload.metrics.count > 1 ? " (\(table.workload.metrics[metric].title))" : ""
        return Line(
            title: row?.words ?? "\(table.workload.name)  \(table.workload.title)\(kind)",
            note: row.map { "\(figure(own.median)) \($0.unit)" }
                ?? "\(grouped(table.size)):   \(figure(own.median))",
            own: own / own.median, ratios: ratios)
    }

    private var title: String {
        isShort
            ? "How many times as long, or as much, as Operations each library takes"
            : "How many times as long as Operations each library takes"
    }

    private var note: String {
        isShort ? "our median" : "the number of operations, and our median"
    }

    private var height: Double { Self.top + step * Double(lines.count) + 30 }

    private func x(_ exponent: Double) -> Double {
        let extent = Double(max(1, range.upperBound - range.lowerBound))
        let share = (exponent - Double(range.lowerBound)) / extent
        return Self.plot.lowerBound + share * (Self.plot.upperBound - Self.plot.lowerBound)
    }

    var svg: String {
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(height))" \
            font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#24292f">
            <rect width="100%" height="100%" fill="#fff"/>
            """,
            text(20, 28, title, size: 17),
            text(
                20, 48,
                "Right of the line at 1: the library is slower than Operations. "
                    + "Beside each name: \(note).",
                color: "#57606a"),
            text(
                20, 66,
                "A bar goes from the fastest round of a library to its slowest. Black: our own rounds.",
                color: "#57606a"),
        ]
        parts += legend + axis
        for (index, line) in lines.enumerated() {
            parts += row(line, at: Self.top + step * (Double(index) + 0.5))
        }
        return (parts + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private var legend: [String] {
        peers.enumerated().flatMap { index, peer in
            let left = 26 + 128 * Double(index)
            return [dot(left, 86, peer), text(left + 10, 90, peer.title)]
        }
    }

    private var axis: [String] {
        let bottom = height - 24
        return range.flatMap { exponent in
            let left = x(Double(exponent))
            let isOurs = exponent == 0
            return [
                """
                <line x1="\(left)" x2="\(left)" y1="\(Self.top)" y2="\(bottom)" \
                stroke="\(isOurs ? "#24292f" : "#d8dee4")" stroke-width="\(isOurs ? 1.5 : 1)"/>
                """,
                text(left, Self.top - 8, Self.label(exponent), anchor: "middle"),
            ]
        }
    }

    private static func label(_ exponent: Int) -> String {
        exponent >= 0
            ? grouped(Int(pow(10, Double(exponent))))
            : "0.\(String(repeating: "0", count: -exponent - 1))1"
    }

    private func row(_ line: Line, at middle: Double) -> [String] {
        [
            """
            <line x1="20" x2="\(Self.plot.upperBound)" y1="\(middle)" y2="\(middle)" \
            stroke="#eaeef2"/>
            """,
            text(20, middle + 4, line.title),
            text(
                Self.plot.lowerBound - 14, middle + 4, line.note, anchor: "end", color: "#57606a"),
        ] + line.ratios.reversed().map { bar($0.ratio, middle, $0.peer) }
            + [bar(line.own, middle, .operations)]
            + line.ratios.map { dot(place(of: $0.ratio.median), middle, $0.peer) }
    }

    /// The place of a ratio, at an end of the scale if it is beyond.
    private func place(of ratio: Double) -> Double {
        min(max(x(log10(ratio)), Self.plot.lowerBound), Self.plot.upperBound)
    }

    private func bar(_ ratio: Spread, _ middle: Double, _ peer: Peer) -> String {
        let style =
            peer == .operations
            ? #"stroke-width="2""# : #"stroke-width="5" stroke-opacity="0.35""#
        return """
            <line x1="\(place(of: ratio.min))" x2="\(place(of: ratio.max))" y1="\(middle)" \
            y2="\(middle)" stroke="\(Self.color(peer))" \(style)/>
            """
    }

    private func dot(_ left: Double, _ middle: Double, _ peer: Peer) -> String {
        """
        <circle cx="\(left)" cy="\(middle)" r="5" fill="\(Self.color(peer))" \
        fill-opacity="0.85"><title>\(peer.title)</title></circle>
        """
    }

    private func text(
        _ left: Double, _ bottom: Double, _ text: String, size: Int = 12, anchor: String = "start",
        color: String = "#24292f"
    ) -> String {
        let text = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        return """
            <text x="\(left)" y="\(bottom)" font-size="\(size)" text-anchor="\(anchor)" \
            fill="\(color)">\(text)</text>
            """
    }

    /// Colors that people with color blindness tell apart (Okabe and Ito).
    private static func color(_ peer: Peer) -> String {
        switch peer {
        case .operations: "#000000"
        case .foundation: "#D55E00"
        case .dispatch: "#0072B2"
        case .taskgroup: "#56B4E9"
        case .nio: "#F0E442"
        case .tbb: "#009E73"
        case .taskflow: "#E69F00"
        case .go: "#CC79A7"
        case .java: "#999999"
        }
    }
}
