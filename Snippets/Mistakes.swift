// snippet.hide
// Mistakes that are thrown, and not the end of the program.
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
    print(error.kind)  // the same for programs
}
// snippet.hide

// Prints:
// 'copy' (finished) has finished, and runs only once: make a new operation
// dependencyCycle(["'build'", "'sign'", "'build'"])
