import ArgumentParser
import Foundation

/// Measures workloads and prints the results.
struct Measure: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures workloads and prints medians and ratios. (default)")

    @Option(help: "The workloads, such as W1,W2; all by default.")
    var only: String?

    @Option(help: "The peers, such as operations,tbb; all by default.")
    var peers: String?

    @Option(help: "The number of rounds; fewer for slow workloads.")
    var rounds = 5

    @Option(name: .customLong("n"), help: "The number of operations, where it can vary.")
    var size: Int?

    @Flag(help: "Print one JSON object per line instead of tables.")
    var json = false

    @Option(
        help: "A file for a picture of the six ratios that README shows, as SVG.",
        completion: .file())
    var picture: String?

    @Option(help: "A file for a picture of all ratios, as SVG.", completion: .file())
    var pictureOfAll: String?

    @Flag(help: "Print the workloads and exit.")
    var list = false

    func validate() throws {
        guard rounds >= 1 else { throw ValidationError("--rounds must be at least 1.") }
        guard size.map({ $0 >= 16 }) ?? true else {
            throw ValidationError("--n must be at least 16.")
        }
        _ = try (workloads(), selectedPeers())
    }

    func run() throws {
        let workloads = try workloads()
        if list { return printList(workloads) }
        let peers = try selectedPeers()
        let options = self
        let outcome = Outcome()
        Threads.run {
            do { try options.measure(workloads, peers) } catch { outcome.error = error }
        }
        if let error = outcome.error { throw error }
    }

    /// Unchecked: written before the thread ends, read afterwards.
    private final class Outcome: @unchecked Sendable {
        var error: (any Error)?
    }

    private func measure(_ workloads: [Workload], _ peers: [Peer]) throws {
        let entrants = entrants(peers)
        let runner = Runner(entrants: entrants, rounds: rounds, progress: showProgress)
        let transfer = Int(CacheLineTransfer.nanoseconds().rounded())
        print(
            json
                ? #"{"cacheLineTransfer":\#(transfer)}"#
                : "One move of a cache line between two processors takes \(transfer) ns here.\n")
        var tables: [Table] = []
        for workload in workloads {
            var smaller: [Int] = []
            let sizes = workload.isScalable ? size.map { [$0] } ?? workload.sizes : workload.sizes
            for size in sizes {
                let table = try runner.run(workload, size: size, smaller: smaller)
                smaller.append(size)
                tables.append(table)
                showProgress("")
                let text =
                    json ? table.json : table.text(isColored: isatty(STDOUT_FILENO) == 1) + "\n"
                if !text.isEmpty { print(text) }
                fflush(nil)
            }
        }
        if let picture {
            try Picture(tables, rows: Picture.Row.six).svg
                .write(toFile: picture, atomically: true, encoding: .utf8)
        }
        if let pictureOfAll {
            try Picture(tables).svg
                .write(toFile: pictureOfAll, atomically: true, encoding: .utf8)
        }
        if !json, peers.contains(.operations) {
            print(Summary.text(tables, peers: entrants.map(\.peer)))
        }
    }

    private func entrants(_ peers: [Peer]) -> [Workload.Entrant] {
        peers.compactMap { peer in
            showProgress("preparing \(peer.title)")
            defer { showProgress("") }
            do {
                return Workload.Entrant(peer: peer, contender: try peer.contender())
            } catch {
                say("\(peer.title) is left out: \(error)\n")
                return nil
            }
        }
    }

    private func printList(_ workloads: [Workload]) {
        for workload in workloads {
            let sizes = workload.sizes.map(grouped).joined(separator: "  ")
            print(workload.name.padded(6) + workload.title.padded(52) + sizes)
        }
    }

    private func workloads() throws -> [Workload] {
        guard let only else { return Workload.all }
        let names = only.split(separator: ",").map { $0.lowercased() }
        for name in names where !Workload.all.contains(where: { $0.name.lowercased() == name }) {
            throw ValidationError("There is no workload \(name); --list shows them.")
        }
        return Workload.all.filter { names.contains($0.name.lowercased()) }
    }

    private func selectedPeers() throws -> [Peer] {
        guard let peers else { return Peer.allCases }
        let names = peers.split(separator: ",").map(String.init)
        let known = Peer.allCases.map(\.rawValue)
        for name in names where !known.contains(name) {
            throw ValidationError(
                "There is no peer \(name); the peers are \(known.joined(separator: ", ")).")
        }
        return Peer.allCases.filter { names.contains($0.rawValue) }
    }

    private func say(_ text: String) {
        Array(text.utf8).withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Shows progress on a single line that is overwritten, if standard error is a terminal.
    private func showProgress(_ text: String) {
        if isatty(STDERR_FILENO) == 1 { say("\r\u{1B}[K\(text)") }
    }
}
