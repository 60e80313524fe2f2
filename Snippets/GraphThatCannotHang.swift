// snippet.hide
// A graph that cannot hang
import Operations

func step(_ name: String) -> BlockOperation {
    let operation = BlockOperation { print(name) }
    operation.name = name
    return operation
}
let (build, test, sign, notes) = (step("build"), step("test"), step("sign"), step("notes"))
build.addDependency(sign)
let queue = OperationQueue()

// snippet.show
let graph = OperationGraph("publish") {
    InOrder {
        build
        test
        sign
    }
    notes
}
do {
    try await queue.run(graph)
} catch let error as OperationGraphError {
    print(error)
}
// snippet.hide
build.removeDependency(sign)
notes.addDependency(sign)
try await queue.run(graph)

// Prints:
// 'build' → 'test' → 'sign' → 'build' is a cycle: remove one of these dependencies
// build
// test
// sign
// notes
