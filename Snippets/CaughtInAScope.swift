// snippet.hide
// A scope whose body catches the failure of an operation
import Operations

struct NoConnection: Error {}
@Sendable func fetch(_ name: String) async throws -> String {
    if name.hasSuffix("jpg") { throw NoConnection() }
    return "twelve words"
}

// snippet.show
try await withOperationQueue { queue in
    let text = queue.add("text") { try await fetch("text") }
    let picture = queue.add("picture", .mayFail) { try await fetch("picture.jpg") }
    do {
        print(try await picture.value)
    } catch {
        print("no picture")
    }
    print(try await text.value)
}
// snippet.hide

// Prints:
// no picture
// twelve words
