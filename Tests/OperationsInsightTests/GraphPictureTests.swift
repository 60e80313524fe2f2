import OperationsTestSupport
import Testing

@testable import Operations
@testable import OperationsInsight

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct GraphPictureTests {
    private func named(_ name: String, after others: Operation...) -> Operation {
        let operation = BlockOperation {}
        operation.name = name
        for other in others { operation.addDependency(other) }
        return operation
    }

    @Test func emptyQueueHasEmptyPicture() {
        let picture = OperationQueue().graph
        #expect(picture.nodes.isEmpty && picture.edges.isEmpty && picture.criticalPath.isEmpty)
        #expect(picture.dot.hasPrefix("digraph") && picture.mermaid.hasPrefix("flowchart"))
    }

    @Test func pictureIncludesDependenciesInOtherQueues() async {
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
        let picture = queue.graph
        let labels = picture.nodes.map(\.label)
        #expect(Set(labels) == ["host", "load", "free", "decode", "show", "aside"])
        #expect(Array(labels.prefix(3)) == ["decode", "show", "aside"])
        #expect(picture.queues == ["queue 'Pictures'", "queue 'Network'"])
        #expect(picture.omittedCount == 0)
        func node(_ name: String) -> OperationGraphPicture.Node? {
            picture.nodes.first { $0.label == name }
        }
        #expect(node("load")?.queue == 1 && node("free")?.queue == nil)
        #expect(node("load")?.state == .waiting && node("aside")?.state == .ready)
        #expect(node("free")?.state == .notStarted)
        let edges = Set(
            picture.edges.map {
                "\(picture.nodes[$0.from].label) \(picture.nodes[$0.to].label)"
            })
        #expect(edges == ["host load", "load decode", "decode show", "free show"])
        #expect(
            picture.criticalPath.map { picture.nodes[$0].label }
                == ["host", "load", "decode", "show"])
        #expect(picture.nodes.filter(\.isCritical).count == 4)
        #expect(picture.edges.filter(\.isCritical).count == 3)
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
        let picture = queue.graph
        #expect(picture.nodes.map(\.label) == ["after", "before", "cancelled"])
        #expect(picture.nodes.map(\.state) == [.waiting, .finished, .cancelled])
        #expect(picture.criticalPath.map { picture.nodes[$0].label } == ["cancelled", "after"])
        queue.cancelAllOperations()
        await queue.drain()
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
        let picture = queue.graph
        #expect(picture.nodes.map(\.label) == ["whole", "part"])
        guard case .executing(let time) = picture.nodes[0].state else {
            Issue.record("the operation is executing")
            return
        }
        #expect(time != nil)
        #expect(picture.edges.map(\.kind) == [.wait])
        #expect(picture.mermaid.contains("n1 == \"waits inside\" ==> n0"))
        #expect(picture.dot.contains("style=dashed"))
        inner.isSuspended = false
        await queue.drain()
    }

    @Test func longestChainTerminatesInCycles() {
        func edge(_ from: Int, _ to: Int) -> OperationGraphPicture.Edge {
            OperationGraphPicture.Edge(from: from, to: to, kind: .dependency(.always))
        }
        let edges = [edge(0, 1), edge(1, 2), edge(2, 0), edge(2, 3)]
        let all = [Bool](repeating: true, count: 4)
        let chain = OperationGraphPicture.longestChain(edges, among: all)
        #expect(chain.count > 1 && Set(chain).count == chain.count)
        let two = [edge(0, 1), edge(1, 0)]
        #expect(OperationGraphPicture.longestChain(two, among: [true, true]).count == 2)
        let own = OperationGraphPicture.longestChain([edge(0, 0)], among: [true])
        #expect(own == [0])
        let some = OperationGraphPicture.longestChain(
            [edge(0, 1), edge(1, 2)], among: [true, false, true])
        #expect(some.count == 1)
    }

    @Test func operationsBeyondLimitAreLeftOut() async {
        let queue = suspendedQueue()
        let first = named("first")
        let operations = (0..<50).map { named("\($0)", after: first) }
        await queue.addOperations(operations + [first], waitUntilFinished: false)
        let picture = OperationGraphPicture(of: queue, limit: 20)
        #expect(picture.nodes.count == 20 && picture.omittedCount == 31)
        #expect(picture.dot.contains("31 more operations left out"))
        #expect(picture.mermaid.contains("31 more operations left out"))
        #expect(picture.edges.allSatisfy { $0.from < 20 && $0.to < 20 })
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
        let picture = queue.graph
        #expect(
            picture.dot == """
                digraph operations {
                  rankdir=LR;
                  compound=true;
                  node [shape=box, style="filled,rounded", fontname="Helvetica"];
                  subgraph cluster_0 {
                    label="queue 'Q'";
                    n0 [label="a\\"b\\n[x]\\nready", fillcolor="#cfe8fc", color="#c0392b", penwidth=3];
                    n1 [label="ü &amp; \\\\ `c`\\nwaiting", fillcolor="#fff3c4", color="#c0392b", penwidth=3];
                    n2 [label="barrier\\nready", fillcolor="#cfe8fc", color="#1b6ca8", peripheries=2];
                  }
                  n0 -> n1 [style=solid, color="#c0392b", penwidth=3];
                }

                """)
        #expect(
            picture.mermaid == """
                flowchart LR
                  subgraph q0["queue #39;Q#39;"]
                    n0["a#34;b<br/>#91;x#93;<br/>ready"]:::ready
                    n1["ü #38; #92; #96;c#96;<br/>waiting"]:::waiting
                    n2[["barrier<br/>ready"]]:::ready
                  end
                  n0 ==> n1
                  classDef idle fill:#ffffff,stroke:#999999,color:#000000
                  classDef waiting fill:#fff3c4,stroke:#b38600,color:#000000
                  classDef ready fill:#cfe8fc,stroke:#1b6ca8,color:#000000
                  classDef executing fill:#c8f0cf,stroke:#1e7b34,color:#000000
                  classDef finished fill:#e6e6e6,stroke:#777777,color:#000000
                  classDef cancelled fill:#f8d0d0,stroke:#a33333,color:#000000
                  classDef critical stroke:#c0392b,stroke-width:3px
                  class n0,n1 critical

                """)
        queue.isSuspended = false
        await queue.drain()
    }
}
