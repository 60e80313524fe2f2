// snippet.hide
// A graph that is one operation of another graph.
import Operations

func step(_ name: String) -> BlockOperation {
    let operation = BlockOperation { print(name) }
    operation.name = name
    return operation
}
let queue = OperationQueue()

// snippet.show
let release = GroupOperation("release", width: 2) {
    InOrder {
        step("build")
        step("sign")
    }
}
let announce = step("announce")
announce.addDependency(release, on: .success)  // if all members succeed

queue.addOperation(announce)
queue.addOperation(release)
await queue.finished()
// snippet.hide

// Prints:
// build
// sign
// announce
