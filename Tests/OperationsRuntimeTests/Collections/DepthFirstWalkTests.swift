import Testing

@testable import OperationsRuntime

struct DepthFirstWalkTests {
    /// Walks a graph, and returns a line for each step.
    private func steps(_ successors: [Int: [Int]], from firsts: [Int]) -> [String] {
        var walk = DepthFirstWalk(from: firsts, id: \.self)
        var steps: [String] = []
        while let step = walk.next() {
            switch step {
            case .entered(let node):
                walk.follow(successors[node] ?? [])
                steps.append("\(walk.path)")
            case .cycle(let start): steps.append("cycle \(walk.path[start...])")
            case .left(let node): steps.append("left \(node)")
            }
        }
        return steps
    }

    @Test func nodeWithSeveralPathsIsEnteredOnce() {
        #expect(
            steps([1: [2, 3], 2: [4], 3: [4]], from: [1]) == [
                "[1]", "[1, 2]", "[1, 2, 4]", "left 4", "left 2", "[1, 3]", "left 3", "left 1",
            ])
    }

    @Test func eachEdgeBackToThePathIsACycle() {
        #expect(
            steps([1: [2], 2: [3, 2], 3: [1]], from: [1]) == [
                "[1]", "[1, 2]", "[1, 2, 3]", "cycle [1, 2, 3]", "left 3", "cycle [2]", "left 2",
                "left 1",
            ])
    }

    @Test func laterFirstsBeginNewPaths() {
        #expect(
            steps([1: [2]], from: [1, 2, 3]) == [
                "[1]", "[1, 2]", "left 2", "left 1", "[3]", "left 3",
            ])
        #expect(steps([:], from: []).isEmpty)
    }

    /// The explanation of a queue goes back at its limit, and may come again from elsewhere.
    @Test func nodeIsEnteredAgainAfterGoingBack() {
        var walk = DepthFirstWalk(from: [1, 2], id: \.self)
        var entered: [Int] = []
        while let step = walk.next() {
            guard case .entered(let node) = step else { continue }
            entered.append(node)
            if walk.path.count > 1 { walk.goBack() } else { walk.follow(node == 1 ? [2] : []) }
        }
        #expect(entered == [1, 2, 2])
        #expect(walk.hasLeft(2) && !walk.hasLeft(3))
    }
}
