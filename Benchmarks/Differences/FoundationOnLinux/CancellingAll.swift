// Apple documents that `cancelAllOperations()` cancels all queued operations. Foundation on Linux
// starts a queued operation before it comes to cancel it, if its dependency ends on cancellation.

import Foundation

final class Upload: Operation, @unchecked Sendable {
    static let installed = DispatchSemaphore(value: 0)

    override func cancel() {  // lasts as long as cancelling many operations
        super.cancel()
        print("a queued operation starts: \(Self.installed.wait(timeout: .now() + 2) == .success)")
    }
}

let (queue, began) = (OperationQueue(), DispatchSemaphore(value: 0))
let (download, upload) = (BlockOperation(), Upload())
download.addExecutionBlock { [unowned download] in
    began.signal()
    while !download.isCancelled {}
}
let install = BlockOperation { Upload.installed.signal() }
install.addDependency(download)
upload.addDependency(install)
queue.addOperations([download, upload, install], waitUntilFinished: false)
began.wait()
queue.cancelAllOperations()
queue.waitUntilAllOperationsAreFinished()

// With Foundation: a queued operation starts: true
// With Operations:
// a queued operation starts: false
