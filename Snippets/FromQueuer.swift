// snippet.hide
// Operations that move over from Queuer and ProcedureKit
import Operations
import Synchronization

struct Offline: Error {}
struct NotLoggedIn: Error {}

let attempts = Atomic(0)
@Sendable func download() async throws -> [UInt8] {
    if attempts.wrappingAdd(1, ordering: .relaxed).newValue < 3 { throw Offline() }
    return Array("sea".utf8)
}
@Sendable func decode(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
@Sendable func isLoggedIn() async -> Bool { false }
func step(_ name: String) -> BlockOperation {
    let operation = BlockOperation { print(name) }
    operation.name = name
    return operation
}
let queue = OperationQueue(name: "photos", width: 4)

// snippet.show
// Queuer: maximumRetries = 3, success = false. ProcedureKit: RetryProcedure(upto: 3), timeouts
let photo = queue.add("photo", .retry(2, backoff: .none), .timeout(.seconds(8))) {
    try await download()
}

// ProcedureKit: decode.injectResult(from: photo)
let picture = queue.add("picture", after: photo) { bytes in decode(bytes) }
print(try await picture.value)

// ProcedureKit: upload.add(condition: BlockCondition { … })
let mayUpload = queue.add("login", .mayFail) {
    guard await isLoggedIn() else { throw NotLoggedIn() }
}
let upload = queue.add("upload", after: mayUpload) { print("uploading") }
await upload.finished()
if let reason = upload.cancellationReason { print(reason) }

// Queuer: addChainedOperations([build, sign]) { … }. ProcedureKit: GroupProcedure
let release = GroupOperation("release") {
    InOrder {
        step("build")
        step("sign")
    }
}
queue.addOperation(release)
queue.add("announce", after: release, on: .always) { print("done") }
await queue.finished()

// ProcedureKit: alert.add(condition: MutuallyExclusive<Alert>())
for _ in 1...2 { queue.add("alert", .exclusive(by: "alert")) { print("one alert at a time") } }
await queue.finished()
// snippet.hide

// Prints:
// sea
// 'login' failed: NotLoggedIn()
// build
// sign
// done
// one alert at a time
// one alert at a time
