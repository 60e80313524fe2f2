import OperationsTestSupport
import Testing

@testable import Operations
@testable import OperationsInsight

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct GraphSnapshotTests {
    private func named(_ name: String, after others: Operation...) -> Operation {
        let operation = BlockOperation {}
        operation.name = name
        for other in others { operation.addDependency(other) }
        return operation
    }

    @Test func emptyQueueHasEmptySnapshot() {
        let snapshot = OperationQueue().graph
        #expect(snapshot.nodes.isEmpty && snapshot.edges.isEmpty && snapshot.criticalPath.isEmpty)
        #expect(snapshot.dot.hasPrefix("digraph") && snapshot.mermaid.hasPrefix("flowchart"))
    }

    @Test func snapshotIncludesDependenciesInOtherQueues() async {
        let (queue, other) = (suspendedQueue(), suspendedQueue())
        queue.name = "Pictures"
        other.name = "Network"
        let host = named("host")
        let load = named("load", after: host)
        let free = named("free")
        let decode = named("decode", after: load)
        let show = named("show", after: decode, free)
        let aside = named("aside")
        await other.addOperations([load, host, named("unrelated")], waitUntilFinished: false)
        await queue.addOperations([decode, show, aside], waitUntilFinished: false)
        let snapshot = queue.graph
        let labels = snapshot.nodes.map(\.label)
        #expect(Set(labels) == ["host", "load", "free", "decode", "show", "aside"])
        #expect(Array(labels.prefix(3)) == ["decode", "show", "aside"])
        #expect(snapshot.queues == ["queue 'Pictures'", "queue 'Network'"])
        #expect(snapshot.omittedCount == 0)
        func node(_ name: String) -> OperationGraphSnapshot.Node? {
            snapshot.nodes.first { $0.label == name }
        }
        #expect(node("load")?.queue == 1 && node("free")?.queue == nil)
        #expect(node("load")?.state == .waiting && node("aside")?.state == .ready)
        #expect(node("free")?.state == .notStarted)
        let edges = Set(
            snapshot.edges.map {
                "\(snapshot.nodes[$0.from].label) \(snapshot.nodes[$0.to].label)"
            })
        #expect(edges == ["host load", "load decode", "decode show", "free show"])
        #expect(
            snapshot.criticalPath.map { snapshot.nodes[$0].label }
                == ["host", "load", "decode", "show"])
        #expect(snapshot.nodes.filter(\.isCritical).count == 4)
        #expect(snapshot.edges.filter(\.isCritical).count == 3)
        free.cancel()
        free.start()
        other.isSuspended = false
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func finishedAndCancelledDependenciesAreShown() async {
        let queue = suspendedQueue()
        let before = named("before")
        let cancelled = named("cancelled")
        cancelled.cancel()
        let after = named("after", after: before, cancelled)
        queue.addOperation(after)
        before.start()
        let snapshot = queue.graph
        #expect(snapshot.nodes.map(\.label) == ["after", "before", "cancelled"])
        #expect(snapshot.nodes.map(\.state) == [.waiting, .finished, .cancelled])
        #expect(snapshot.criticalPath.map { snapshot.nodes[$0].label } == ["cancelled", "after"])
        queue.cancelAllOperations()
        await queue.drain()
    }

    private func arrows(
        _ snapshot: OperationGraphSnapshot, _ kind: OperationGraphSnapshot.EdgeKind
    ) -> [String] {
        snapshot.edges.filter { $0.kind == kind }.map {
            "\(snapshot.nodes[$0.from].label) \(snapshot.nodes[$0.to].label)"
        }
        .sorted()
    }

    @Test func barriersHaveArrows() async {
        let queue = suspendedQueue()
        queue.addOperation(named("a"))
        queue.addOperation(named("b"))
        queue.addBarrierBlock {}
        queue.addOperation(named("c"))
        queue.addBarrierBlock {}
        queue.addBarrierBlock {}
        queue.addOperation(named("d"))
        let snapshot = queue.graph
        #expect(
            arrows(snapshot, .barrier) == [
                "a barrier", "b barrier", "barrier barrier", "barrier c", "barrier d", "c barrier",
            ])
        #expect(arrows(snapshot, .order).isEmpty)
        #expect(
            snapshot.criticalPath.map { snapshot.nodes[$0].label }.suffix(5)
                == ["barrier", "c", "barrier", "barrier", "d"])
        #expect(snapshot.dot.contains("style=dotted, label=\"barrier\""))
        #expect(
            snapshot.mermaid.contains("== \"barrier\" ==>")
                && snapshot.mermaid.contains("-. \"barrier\" .->"))
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func strictOrderHasArrows() async {
        let queue = suspendedQueue()
        queue.order = .fifo
        for name in ["a", "b", "c"] { queue.addOperation(named(name)) }
        let snapshot = queue.graph
        #expect(arrows(snapshot, .order) == ["a b", "b c"])
        #expect(snapshot.criticalPath.count <= 1)
        #expect(snapshot.dot.contains("style=dotted, label=\"in order\""))
        queue.isSuspended = false
        await queue.drain()
        let free = suspendedQueue()
        free.addOperation(named("a"))
        free.addOperation(named("b"))
        #expect(free.graph.edges.isEmpty)
        free.isSuspended = false
        await free.drain()
    }

    @Test func executingOperationsAndTheirWaitsAreShown() async {
        let (queue, inner) = (OperationQueue(), suspendedQueue())
        let part = named("part")
        inner.addOperation(part)
        let began = Signal()
        let whole = BlockOperation {
            began.send()
            part.waitUntilFinished()
        }
        whole.name = "whole"
        queue.addOperation(whole)
        #expect(await comesTrue { !BlockedWait.targets(in: whole).isEmpty })
        let snapshot = queue.graph
        #expect(snapshot.nodes.map(\.label) == ["whole", "part"])
        guard case .executing(let time) = snapshot.nodes[0].state else {
            Issue.record("the operation is executing")
            return
        }
        #expect(time != nil)
        #expect(snapshot.edges.map(\.kind) == [.wait])
        #expect(snapshot.mermaid.contains("n1 == \"waits inside\" ==> n0"))
        #expect(snapshot.dot.contains("style=dashed"))
        inner.isSuspended = false
        await queue.drain()
    }

    @Test func longestChainTerminatesInCycles() {
        func edge(_ from: Int, _ to: Int) -> OperationGraphSnapshot.Edge {
            OperationGraphSnapshot.Edge(from: from, to: to, kind: .dependency(.always))
        }
        let edges = [edge(0, 1), edge(1, 2), edge(2, 0), edge(2, 3)]
        let all = [Bool](repeating: true, count: 4)
        let chain = OperationGraphSnapshot.longestChain(edges, among: all)
        #expect(chain.count > 1 && Set(chain).count == chain.count)
        let two = [edge(0, 1), edge(1, 0)]
        #expect(OperationGraphSnapshot.longestChain(two, among: [true, true]).count == 2)
        let own = OperationGraphSnapshot.longestChain([edge(0, 0)], among: [true])
        #expect(own == [0])
        let some = OperationGraphSnapshot.longestChain(
            [edge(0, 1), edge(1, 2)], among: [true, false, true])
        #expect(some.count == 1)
    }

    @Test func operationsBeyondLimitAreLeftOut() async {
        let queue = suspendedQueue()
        let first = named("first")
        let operations = (0..<50).map { named("\($0)", after: first) }
        await queue.addOperations(operations + [first], waitUntilFinished: false)
        let snapshot = OperationGraphSnapshot(of: queue, limit: 20)
        #expect(snapshot.nodes.count == 20 && snapshot.omittedCount == 31)
        #expect(snapshot.dot.contains("31 more operations left out"))
        #expect(snapshot.mermaid.contains("31 more operations left out"))
        #expect(snapshot.edges.allSatisfy { $0.from < 20 && $0.to < 20 })
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func longChainNeedsNoDeepStack() async {
        let queue = suspendedQueue()
        var chain: [Operation] = [named("0")]
        for number in 1..<9_000 {
            // In reverse, so that the search finds the last operation first.
            chain.append(named("\(number)"))
            chain[number - 1].addDependency(chain[number])
        }
        queue.addOperation(chain[0])
        #expect(queue.graph.criticalPath.count == 9_000)
        queue.cancelAllOperations()
        for operation in chain { operation.cancel() }
        await queue.drain()
    }

    @Test func dotAndMermaidTextsAreExact() async {
        let queue = suspendedQueue()
        queue.name = "Q"
        let first = named("a\"b\n[x]")
        let second = named("ü & \\ `c`", after: first)
        await queue.addOperations([first, second], waitUntilFinished: false)
        queue.addBarrierBlock {}
        let snapshot = queue.graph
        #expect(
            snapshot.dot == """
                digraph operations {
                  rankdir=LR;
                  compound=true;
                  node [shape=box, style="filled,rounded", fontname="Helvetica"];
                  subgraph cluster_0 {
                    label="queue 'Q'";
                    n0 [label="a\\"b\\n[x]\\nready", fillcolor="#cfe8fc", color="#c0392b", penwidth=3];
                    n1 [label="ü &amp; \\\\ `c`\\nwaiting", fillcolor="#fff3c4", color="#c0392b", penwidth=3];
                    n2 [label="barrier\\nready", fillcolor="#cfe8fc", color="#c0392b", penwidth=3, peripheries=2];
                  }
                  n0 -> n1 [style=solid, color="#c0392b", penwidth=3];
                  n0 -> n2 [style=dotted, label="barrier"];
                  n1 -> n2 [style=dotted, label="barrier", color="#c0392b", penwidth=3];
                }

                """)
        #expect(
            snapshot.mermaid == """
                flowchart LR
                  subgraph q0["queue #39;Q#39;"]
                    n0["a#34;b<br/>#91;x#93;<br/>ready"]:::ready
                    n1["ü #38; #92; #96;c#96;<br/>waiting"]:::waiting
                    n2[["barrier<br/>ready"]]:::ready
                  end
                  n0 ==> n1
                  n0 -. "barrier" .-> n2
                  n1 == "barrier" ==> n2
                  classDef idle fill:#ffffff,stroke:#999999,color:#000000
                  classDef waiting fill:#fff3c4,stroke:#b38600,color:#000000
                  classDef ready fill:#cfe8fc,stroke:#1b6ca8,color:#000000
                  classDef executing fill:#c8f0cf,stroke:#1e7b34,color:#000000
                  classDef finished fill:#e6e6e6,stroke:#777777,color:#000000
                  classDef cancelled fill:#f8d0d0,stroke:#a33333,color:#000000
                  classDef critical stroke:#c0392b,stroke-width:3px
                  class n0,n1,n2 critical

                """)
        queue.isSuspended = false
        await queue.drain()
    }
}
