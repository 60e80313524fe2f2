// snippet.hide
// The program of "Getting started".
import Operations

struct Card: CustomStringConvertible {
    let (picture, caption): (String, String)
    init(_ picture: String, _ caption: String) { (self.picture, self.caption) = (picture, caption) }
    var description: String { "\(caption): \(picture)" }
}
let url = "sea.jpg"
@Sendable func fetch(_ url: String) async throws -> [UInt8] { Array(url.utf8) }
@Sendable func decode(_ bytes: [UInt8]) throws -> String { String(decoding: bytes, as: UTF8.self) }

// snippet.show
let queue = OperationQueue(width: 4)

let download = queue.add("download", .retry(3), .timeout(.seconds(5))) {
    try await fetch(url)
}
let picture = queue.add("decode", after: download) { bytes in try decode(bytes) }
let caption = queue.add("caption") { "Morning" }
let card = queue.add(after: picture, caption) { picture, caption in
    Card(picture, caption)
}

print(try await card.value)
// snippet.hide

// Prints:
// Morning: sea.jpg
