import HTTPTypes

/// The head of a response, from the lines that libcurl hands over. Interim responses (status 1xx)
/// have heads of their own, which come before it and leave nothing.
struct ResponseHead: Sendable {
    /// The status; 0 before the first line has arrived, or if that line has no number.
    private(set) var status = 0
    private(set) var fields = HTTPFields()
    /// Whether the empty line at the end has arrived.
    private(set) var isComplete = false
    /// Whether the next line is the first one of a head.
    private var isAtStart = true

    /// Takes a line with its end. What comes after the end of the head, such as the fields after a
    /// body that was sent in pieces, changes nothing.
    mutating func lineArrived(_ line: UnsafeRawBufferPointer) {
        if isComplete { return }
        let text = String(decoding: line.prefix { $0 != 0x0d && $0 != 0x0a }, as: UTF8.self)
        if isAtStart {
            isAtStart = false
            let words = text.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            fields = HTTPFields()
        } else if text.isEmpty {
            isAtStart = (100..<200).contains(status)
            isComplete = !isAtStart
        } else if let colon = text.firstIndex(of: ":"),
            let name = HTTPField.Name(String(text[..<colon]))
        {
            let value = text[text.index(after: colon)...]
            fields.append(HTTPField(name: name, value: String(value)))
        }
    }
}

extension HTTPFields {
    /// The first value of a field, which some servers send twice.
    func first(_ name: HTTPField.Name) -> String? { self[values: name].first }
}
