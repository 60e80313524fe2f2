import Operations

extension OperationGraphSnapshot {
    private static let criticalColor = "#c0392b"

    /// The nodes of each queue, followed by the nodes that are in no queue.
    private var clusters: [(label: String?, nodes: [Int])] {
        var byQueue = [[Int]](repeating: [], count: queues.count)
        var free: [Int] = []
        for (index, node) in nodes.enumerated() {
            if let queue = node.queue { byQueue[queue].append(index) } else { free.append(index) }
        }
        let full = zip(queues, byQueue).filter { !$0.1.isEmpty }
        return full.map { (label: $0.0, nodes: $0.1) } + [(label: nil, nodes: free)]
    }

    private var omission: String? {
        omittedCount == 0
            ? nil : "\(omittedCount) more operation\(omittedCount == 1 ? "" : "s") left out"
    }

    // MARK: DOT

    /// The graph in the DOT language of Graphviz: `dot -Tsvg`.
    ///
    /// Colors and words show the states. A dashed arrow is a wait in an operation's code, and a
    /// dotted one is what a barrier or a strict order requires. Thick red lines mark the
    /// ``criticalPath``.
    public var dot: String {
        var lines = [
            "digraph operations {", "  rankdir=LR;", "  compound=true;",
            "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\"];",
        ]
        for (number, cluster) in clusters.enumerated() {
            guard let label = cluster.label else {
                lines += cluster.nodes.map { "  \(dotNode($0))" }
                continue
            }
            lines.append("  subgraph cluster_\(number) {")
            lines.append("    label=\(Self.dotText(label));")
            lines += cluster.nodes.map { "    \(dotNode($0))" }
            lines.append("  }")
        }
        for edge in edges {
            var attributes = ["style=\(edge.kind.dotStyle)"]
            if let label = edge.kind.label { attributes.append("label=\"\(label)\"") }
            if edge.isCritical {
                attributes += ["color=\"\(Self.criticalColor)\"", "penwidth=3"]
            }
            lines.append("  n\(edge.from) -> n\(edge.to) [\(attributes.joined(separator: ", "))];")
        }
        if let omission {
            lines.append("  omitted [shape=note, fillcolor=\"#ffffff\", label=\"\(omission)\"];")
        }
        return (lines + ["}", ""]).joined(separator: "\n")
    }

    private func dotNode(_ index: Int) -> String {
        let node = nodes[index]
        let colors = node.state.kind.colors
        var attributes = [
            "label=\(Self.dotText("\(node.label)\n\(node.state.text)"))",
            "fillcolor=\"\(colors.fill)\"",
            "color=\"\(node.isCritical ? Self.criticalColor : colors.line)\"",
        ]
        if node.isCritical { attributes.append("penwidth=3") }
        if node.isBarrier { attributes.append("peripheries=2") }
        return "n\(index) [\(attributes.joined(separator: ", "))];"
    }

    /// Returns the text as a quoted string, in which only quotes and backslashes are special.
    /// Source: "The DOT Language".
    static func dotText(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            switch character {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            // Labels interpret HTML entities.
            case "&": quoted += "&amp;"
            case _ where character.isControl: quoted += " "
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted + "\""
    }

    // MARK: Mermaid

    /// The graph in the Mermaid language, which many web pages draw.
    ///
    /// As in ``dot``, colors and words show the states. Dotted arrows are waits in an operation's
    /// code, barriers and strict orders, by their labels. Thick arrows mark the ``criticalPath``.
    public var mermaid: String {
        var lines = ["flowchart LR"]
        for (number, cluster) in clusters.enumerated() {
            guard let label = cluster.label else {
                lines += cluster.nodes.map { "  \(mermaidNode($0))" }
                continue
            }
            lines.append("  subgraph q\(number)[\(Self.mermaidText(label))]")
            lines += cluster.nodes.map { "    \(mermaidNode($0))" }
            lines.append("  end")
        }
        for edge in edges {
            let line =
                switch (edge.kind.dotStyle != "solid", edge.isCritical) {
                case (_, true): (begin: "==", end: "==>")
                case (true, false): (begin: "-.", end: ".->")
                case (false, false): (begin: "--", end: "-->")
                }
            let arrow = edge.kind.label.map { "\(line.begin) \"\($0)\" \(line.end)" } ?? line.end
            lines.append("  n\(edge.from) \(arrow) n\(edge.to)")
        }
        if let omission { lines.append("  omitted[\"\(omission)\"]") }
        for kind in State.Kind.allCases {
            let colors = kind.colors
            lines.append(
                "  classDef \(kind.rawValue) fill:\(colors.fill),stroke:\(colors.line),color:#000000"
            )
        }
        lines.append("  classDef critical stroke:\(Self.criticalColor),stroke-width:3px")
        let critical = nodes.indices.filter { nodes[$0].isCritical }.map { "n\($0)" }
        if !critical.isEmpty {
            lines.append("  class \(critical.joined(separator: ",")) critical")
        }
        return (lines + [""]).joined(separator: "\n")
    }

    private func mermaidNode(_ index: Int) -> String {
        let node = nodes[index]
        let text = Self.mermaidText("\(node.label)\n\(node.state.text)")
        let shape = node.isBarrier ? "[[\(text)]]" : "[\(text)]"
        return "n\(index)\(shape):::\(node.state.kind.rawValue)"
    }

    /// Returns the text as a quoted string.
    ///
    /// Every ASCII character but letters, digits and spaces is written as a number, because
    /// Mermaid, Markdown or HTML could interpret it. Source: "Flowcharts", Mermaid's documentation,
    /// "Entity codes to escape characters".
    static func mermaidText(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            switch character {
            case "a"..."z", "A"..."Z", "0"..."9", " ": quoted.unicodeScalars.append(character)
            case "\n": quoted += "<br/>"
            case _ where character.isControl: quoted += " "
            case _ where character.isASCII: quoted += "#\(character.value);"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted + "\""
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is a control character or a line separator.
    fileprivate var isControl: Bool {
        value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029
    }
}

extension OperationGraphSnapshot.EdgeKind {
    /// The text at the arrow.
    fileprivate var label: String? {
        switch self {
        case .dependency(.always): nil
        case .dependency(.success): "on success"
        case .dependency(.failure): "on failure"
        case .wait: "waits inside"
        case .barrier: "barrier"
        case .order: "in order"
        }
    }

    /// The line in Graphviz.
    fileprivate var dotStyle: String {
        switch self {
        case .dependency: "solid"
        case .wait: "dashed"
        case .barrier, .order: "dotted"
        }
    }
}
