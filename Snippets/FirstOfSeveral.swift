// snippet.hide
// The first success of several operations, and results that are kept for a time
import Operations

struct Unreachable: Error {}
func download(_ mirror: String) async throws -> String {
    switch mirror {
    case "broken": throw Unreachable()
    case "slow": try await Task.sleep(for: .seconds(60))
    default: break
    }
    return "the file from \(mirror)"
}
let queue = OperationQueue()

// snippet.show
let mirrors = ["slow", "broken", "near"].map { mirror in
    queue.add(mirror) { try await download(mirror) }
}
let file = queue.add("file", firstOf: mirrors, cancelsOthers: true)
print(try await file.value)
do { _ = try await mirrors[0].value } catch { print(error) }

// For ten seconds, all tasks get the same result.
for _ in 1...3 {
    let rate = try await queue.sharedValue(by: "rate", keepingFor: .seconds(10)) { fetchRate() }
    print(rate)
}
// snippet.hide
@Sendable func fetchRate() -> Int {
    print("fetching")
    return 7
}

// Prints:
// the file from near
// 'slow' was cancelled: 'near' took its place
// fetching
// 7
// 7
// 7
