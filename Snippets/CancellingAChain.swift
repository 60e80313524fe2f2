// snippet.hide
// Cancelling an operation with its dependents
import Dispatch
import Operations

/// A device whose call blocks until it is aborted.
final class Scanner: Sendable {
    struct Aborted: Error {}
    let began = DispatchSemaphore(value: 0)
    private let aborted = DispatchSemaphore(value: 0)

    func scan() throws -> String {
        began.signal()
        aborted.wait()
        throw Aborted()
    }
    func abort() { aborted.signal() }
}

func recognize(_ page: String) -> String { page }
func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

let queue = OperationQueue()
let device = Scanner()

// snippet.show
let scan = queue.add("scan") {
    Operation.current?.onCancel { device.abort() }  // reaches the call that blocks
    return try device.scan()
}
let text = queue.add("text", after: scan) { page in recognize(page) }
// snippet.hide
wait(for: device.began)
// snippet.show

scan.cancel(.withDependents, because: "the lid was opened")
await queue.finished()
if let reason = text.cancellationReason { print(reason) }
// snippet.hide

// Prints:
// the lid was opened
