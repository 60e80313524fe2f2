import OperationsFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A page and the pages to which it links.
struct Page: Sendable {
    let url: URL
    let html: String

    var links: [URL] {
        html.matches(of: /href="([^"#]+)/).compactMap { match in
            URL(string: String(match.1), relativeTo: url)?.absoluteURL
        }
    }
}

/// An answer other than a page.
struct Refusal: Error, CustomStringConvertible {
    let status: Int
    /// The header Retry-After, if it gives seconds. (It may also give a date.)
    let retryAfter: Duration?

    var isTemporary: Bool { status == 429 || (500...599).contains(status) }

    var description: String { "status \(status)" }
}

/// Returns a page, or throws a ``Refusal`` or a `URLError`. Cancelling the task ends the transfer.
func fetch(_ url: URL) async throws -> Page {
    let (data, response) = try await URLSession.shared.data(from: url)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    guard response.statusCode == 200 else {
        let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
        throw Refusal(status: response.statusCode, retryAfter: seconds.map { .seconds($0) })
    }
    return Page(url: response.url ?? url, html: String(decoding: data, as: UTF8.self))
}
