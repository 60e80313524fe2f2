#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The metrics that a page of the documentation lists, in tables with the columns name, type, unit
/// and attributes.
public struct MetricsTable: Sendable {
    /// A metric of a table.
    public struct Metric: Sendable, Hashable, Comparable, CustomStringConvertible {
        /// The label, as in `operations.added`.
        public let name: String
        /// `Counter`, `Meter` or `Timer`.
        public let type: String
        /// The keys of the dimensions.
        public let attributes: Set<String>

        /// Makes a metric.
        public init(name: String, type: String, attributes: some Sequence<String>) {
            (self.name, self.type, self.attributes) = (name, type, Set(attributes))
        }

        /// The type, the name and the attributes.
        public var description: String {
            "\(type) \(name) \(attributes.sorted().joined(separator: ", "))"
        }

        /// Compares the descriptions.
        public static func < (a: Metric, b: Metric) -> Bool { a.description < b.description }

        /// The names of the metric's series in Prometheus.
        public var prometheusNames: [String] {
            let name = MetricsTable.prometheus(name)
            return switch type {
            case "Counter": ["\(name)_total"]
            case "Timer": ["bucket", "sum", "count"].map { "\(name)_seconds_\($0)" }
            default: [name]
            }
        }
    }

    /// The metrics of all tables, in the order of the page.
    public let metrics: [Metric]

    /// Reads a page.
    ///
    /// - Parameter path: the path below the folder of the package.
    public init(of path: String) throws {
        let rows = try String(contentsOf: Self.url(of: path), encoding: .utf8).split(
            separator: "\n"
        )
        .map { $0.split(separator: "|").map { $0.trimmed } }
        metrics = rows.compactMap { cells in
            guard cells.count >= 4, cells[0].hasPrefix("`"),
                let type = ["Counter", "Meter", "Timer"].first(where: { cells[1] == "`\($0)`" })
            else { return nil }
            return Metric(
                name: cells[0].filter { $0 != "`" }, type: type,
                attributes: cells[3].split(separator: ",")
                    .map { $0.trimmed.filter { $0 != "`" } }.filter { !$0.isEmpty })
        }
    }

    /// The name as Prometheus writes it, without a suffix.
    public static func prometheus(_ name: String) -> String {
        String(name.map { $0 == "." ? "_" : $0 })
    }

    /// The address of a file of the package.
    public static func url(of path: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: path)
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
