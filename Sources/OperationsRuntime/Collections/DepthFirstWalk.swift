/// A depth-first walk of a graph that may contain cycles.
///
/// The caller takes the steps with ``next()``, and names the successors of each node that the walk
/// enters. The walk does not recurse, because paths may be long.
@usableFromInline
package struct DepthFirstWalk<Node, ID: Hashable> {
    @usableFromInline package enum Step {
        /// The walk has come to a node for the first time; the node is now the last of ``path``.
        /// Without a call of ``follow(_:)`` the node has no successors.
        case entered(Node)
        /// The last node of the path leads back to the node at this index of the path.
        case cycle(start: Int)
        /// The walk has followed all successors of a node, and removed the node from the path.
        case left(Node)
    }

    /// The nodes from the first one to the present one; each is a successor of the one before.
    @usableFromInline package internal(set) var path: [Node] = []
    /// The nodes still to be visited: the firsts, then the successors of each node of the path.
    @usableFromInline var rest: [ArraySlice<Node>]
    /// The index in the path of each node that has been entered; -1 once it has been left.
    @usableFromInline var places: [ID: Int] = [:]
    @usableFromInline let id: (Node) -> ID

    /// - Parameter firsts: The nodes where the walk begins, one after the other.
    @inlinable
    package init(from firsts: [Node], id: @escaping (Node) -> ID) {
        rest = [firsts[...]]
        self.id = id
    }

    /// Returns the next step; nil at the end of the walk.
    @inlinable
    package mutating func next() -> Step? {
        while let node = rest[path.count].popFirst() {
            if let place = places[id(node)] {
                if place >= 0 { return .cycle(start: place) }
                continue
            }
            places[id(node)] = path.count
            path.append(node)
            rest.append([])
            return .entered(node)
        }
        guard let last = path.popLast() else { return nil }
        rest.removeLast()
        places[id(last)] = -1
        return .left(last)
    }

    /// Sets the successors of the node that the walk has just entered.
    @inlinable
    package mutating func follow(_ successors: [Node]) { rest[path.count] = successors[...] }

    /// Takes back the step to the node that the walk has just entered.
    @inlinable
    package mutating func goBack() {
        rest.removeLast()
        places[id(path.removeLast())] = nil
    }

    /// Returns whether the walk has entered and left the node.
    @inlinable
    package func hasLeft(_ node: Node) -> Bool { places[id(node)] == -1 }
}
