import ArgumentParser

/// Who is measured.
enum Peer: String, CaseIterable, Sendable, ExpressibleByArgument {
    case operations, foundation, dispatch, taskgroup, tbb, go

    var title: String {
        switch self {
        case .operations: "Operations"
        case .foundation: "Foundation"
        case .dispatch: "Dispatch"
        case .taskgroup: "task group"
        case .tbb: "oneTBB"
        case .go: "Go"
        }
    }

    /// The peer, made ready to be measured.
    ///
    /// - Throws: ``Failure`` if this machine lacks what it needs.
    func contender() throws -> any Contender {
        switch self {
        case .operations: OperationsPeer()
        case .foundation: FoundationPeer()
        case .dispatch: DispatchPeer()
        case .taskgroup: TaskGroupPeer()
        case .tbb: try ExternalPeer.tbb()
        case .go: try ExternalPeer.go()
        }
    }
}
