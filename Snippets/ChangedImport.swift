// snippet.hide
// A file that moves over from Foundation
import Dispatch
// snippet.show
import Operations  // was: import Foundation

class PhotoOperation: Operation, @unchecked Sendable {
    let photo: String

    init(_ photo: String) {
        self.photo = photo
    }

    override func main() {
        if isCancelled { return }
        print("\(type(of: self)) works on \(photo)")
    }
}

final class Download: PhotoOperation, @unchecked Sendable {}
final class Filter: PhotoOperation, @unchecked Sendable {}

let queue = OperationQueue()
queue.name = "Photo queue"
queue.maxConcurrentOperationCount = 1

let download = Download("sea.jpg")
let filter = Filter("sea.jpg")
filter.addDependency(download)
filter.queuePriority = .high
// snippet.hide
let notified = DispatchSemaphore(value: 0)
// snippet.show
filter.completionBlock = {
    print("filtered")
    // snippet.hide
    notified.signal()
    // snippet.show
}
queue.addOperations([filter, download], waitUntilFinished: true)
// snippet.hide
notified.wait()

// Prints:
// Download works on sea.jpg
// Filter works on sea.jpg
// filtered
