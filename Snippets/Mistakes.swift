// snippet.hide
// Mistakes that are thrown, and do not stop the program.
import Operations

// snippet.show
let queue = OperationQueue()
let copy = BlockOperation {}
copy.name = "copy"
queue.addOperation(copy)
await copy.finished()
do {
    try queue.addOperationChecked(copy)  // addOperation(copy) would stop the program
} catch {
    print(error)
}

let build = BlockOperation {}
build.name = "build"
let sign = BlockOperation {}
sign.name = "sign"
sign.addDependency(build)
do {
    try build.addDependencyChecked(sign)
} catch {
    print(error)  // error.kind is the same for programs
}
// snippet.hide

// Prints:
// 'copy' (finished) has finished, and runs only once: make a new operation
// the dependency would close a cycle, 'build' → 'sign' → 'build', in which nothing can start: leave it out, or remove another one of the cycle first
