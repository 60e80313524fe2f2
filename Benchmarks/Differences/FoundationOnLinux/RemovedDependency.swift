// Apple documents that removing a dependency may make the operation ready. With Foundation on
// Linux, an operation never starts if a dependency was removed before the dependency had finished.

import Foundation

let login = BlockOperation {}
let download = BlockOperation {}
download.addDependency(login)
download.removeDependency(login)
OperationQueue().addOperations([download], waitUntilFinished: true)
print("the download has finished")

// With Foundation: does not end within 10 s
// With Operations:
// the download has finished
