import Hummingbird

/// The identifier of an open page, chosen by the page: 32 hexadecimal digits.
struct PageID: Hashable, Sendable, Decodable {
    let text: String

    init?(_ text: String) {
        let isHexadecimal = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard text.utf8.count == 32, isHexadecimal else { return nil }
        self.text = text
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = PageID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "A page identifier has 32 hexadecimal digits.")
        }
        self = id
    }
}

extension Request {
    /// The page that the query names.
    ///
    /// - Throws: the response that refuses the request, if the query names no page.
    func pageID() throws -> PageID {
        guard let id = uri.queryParameters.get("page").flatMap(PageID.init) else {
            throw HTTPError(
                .badRequest, message: "The page identifier must have 32 hexadecimal digits.")
        }
        return id
    }
}
