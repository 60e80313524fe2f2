// snippet.hide
// A subclass with an async main()
import Operations

func fetch(_ name: String) async throws -> [UInt8] { Array(name.utf8) }

// snippet.show
final class ImageDownload: TypedOperation<String>, @unchecked Sendable {
    let url: String

    init(_ url: String) {
        self.url = url
        super.init()
    }

    override func main() async throws -> String {
        let bytes = try await fetch(url)
        return "\(bytes.count) bytes of \(url)"
    }
}

let queue = OperationQueue()
let download = ImageDownload("photo.jpg")
queue.addOperation(download)
print(try await download.value)
// snippet.hide

// Prints:
// 9 bytes of photo.jpg
