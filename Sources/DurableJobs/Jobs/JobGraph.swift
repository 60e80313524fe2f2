#if DurableJobs
import OperationsRuntime
public import Operations

/// Jobs that depend on each other, and are stored together or not at all.
///
/// ```swift
/// var graph = JobGraph()
/// let pictures = names.map { graph.add(Thumbnail(photo: $0, size: 320)) }
/// let album = graph.add(Album(title: "Alps"))
/// for picture in pictures { graph.addDependency(of: album, on: picture) }
/// let handles = try await jobs.enqueue(graph)
/// print(try await handles[album].value)
/// ```
///
/// The arguments of a job cannot contain the handles of other jobs of the graph, which have no
/// numbers yet.
public struct JobGraph: Sendable {
    /// A job of a graph, with the type of its result.
    public struct Node<Output: Codable & Sendable>: Sendable {
        let index: Int
    }

    struct Edge: Sendable {
        let node: Int
        let condition: DependencyCondition
    }

    struct NodeRecord: Sendable {
        let name: String
        let make: @Sendable (JobQueue) throws -> NewJob
        var edges: [Edge] = []
    }

    /// The handles of a stored graph.
    public struct Handles: Sendable {
        let ids: [JobID]
        let queue: JobQueue

        /// Returns the handle of a job of the graph.
        public subscript<Output>(node: Node<Output>) -> JobHandle<Output> {
            JobHandle(ids[node.index], in: queue)
        }
    }

    private(set) var nodes: [NodeRecord] = []

    /// Makes a graph without jobs.
    public init() {}

    /// Adds a job.
    ///
    /// - Parameters:
    ///   - job: the work and its arguments.
    ///   - traits: further settings of the job.
    ///   - dependencies: stored jobs that must end before.
    public mutating func add<J: Job>(
        _ job: J, _ traits: JobTrait..., after dependencies: any JobReference...
    ) -> Node<J.Output> {
        add(job, traits, after: dependencies)
    }

    /// Adds a job that depends on any number of stored jobs.
    public mutating func add<J: Job>(
        _ job: J, _ traits: [JobTrait] = [], after dependencies: [any JobReference]
    ) -> Node<J.Output> {
        nodes.append(
            NodeRecord(name: J.name) { queue in
                try queue.newJob(job, JobOptions(traits, of: J.self), after: dependencies)
            })
        return Node(index: nodes.count - 1)
    }

    /// Lets one job of the graph wait for another one.
    public mutating func addDependency<Output, Other>(
        of node: Node<Output>, on other: Node<Other>, on condition: DependencyCondition = .success
    ) {
        nodes[node.index].edges.append(Edge(node: other.index, condition: condition))
    }

    /// Returns the indices of the jobs, dependencies first.
    ///
    /// - Throws: ``JobError/dependencyCycle(_:)``.
    func topologicalOrder() throws -> [Int] {
        var order: [Int] = []
        var walk = DepthFirstWalk(from: Array(nodes.indices)) { $0 }
        while let step = walk.next() {
            switch step {
            case .entered(let node): walk.follow(nodes[node].edges.map(\.node))
            case .left(let node): order.append(node)
            case .cycle(let start):
                let cycle = walk.path[start...]
                throw JobError.dependencyCycle((cycle + cycle.prefix(1)).map { nodes[$0].name })
            }
        }
        return order
    }
}
#endif
