import ArgumentParser

/// The libraries that are measured.
enum Peer: String, CaseIterable, Sendable, ExpressibleByArgument {
    case operations, foundation, dispatch, taskgroup, nio, tbb, taskflow, go, java

    var title: String {
        switch self {
        case .operations: "Operations"
        case .foundation: "Foundation"
        case .dispatch: "Dispatch"
        case .taskgroup: "task group"
        case .nio: "NIOThreadPool"
        case .tbb: "oneTBB"
        case .taskflow: "Taskflow"
        case .go: "Go"
        case .java: "Java"
        }
    }

    /// Prepares the peer for measurement.
    ///
    /// - Throws: ``Failure`` if this machine lacks a requirement of the peer.
    func contender() throws -> any Contender {
        switch self {
        case .operations: OperationsPeer()
        case .foundation: FoundationPeer()
        case .dispatch: DispatchPeer()
        case .taskgroup: TaskGroupPeer()
        case .nio: NIOPeer()
        case .tbb: try ExternalPeer.tbb()
        case .taskflow: try ExternalPeer.taskflow()
        case .go: try ExternalPeer.go()
        case .java: try ExternalPeer.java()
        }
    }
}
