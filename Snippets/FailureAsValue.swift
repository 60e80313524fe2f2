// snippet.hide
// Failures that operations handle, that are expected, and that are collected.
import Operations

struct NotFound: Error {}

@Sendable func fetch(_ name: String) throws -> String {
    if name == "c" { throw NotFound() }
    return name
}

// snippet.show
do {
    try await withOperationQueue(width: 1, onFailure: .collect) { queue in
        let page = queue.add("page") { try fetch("c") }
        let notice = queue.add(onFailureOf: page) { error in
            print("a notice instead of the page: \(error)")
        }
        await notice.finished()
        queue.add("icon", .mayFail) { try fetch("c") }
        for name in ["a", "b", "c"] {
            queue.add(name) { print(try fetch(name)) }
        }
    }
} catch {
    print(error)
}
// snippet.hide

// Prints:
// a notice instead of the page: NotFound()
// a
// b
// 'c' failed: NotFound()
