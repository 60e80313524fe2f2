// Apple documents that `completionBlock` becomes nil when the block begins. Foundation on Linux
// keeps the block, so an operation that its completion block captures is never released.

import Foundation

final class Download: Operation, @unchecked Sendable {
    static let released = DispatchSemaphore(value: 0)
    deinit { Self.released.signal() }
}

func runDownload() {
    let (download, completed) = (Download(), DispatchSemaphore(value: 0))
    download.completionBlock = { if download.isFinished { completed.signal() } }
    OperationQueue().addOperation(download)
    completed.wait()
}

runDownload()
print("the download is released: \(Download.released.wait(timeout: .now() + 2) == .success)")

// With Foundation: the download is released: false
// With Operations:
// the download is released: true
