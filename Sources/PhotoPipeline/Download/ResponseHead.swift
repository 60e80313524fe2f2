#if PhotoPipeline
import HTTPTypes

/// The head of a response, from the lines that libcurl hands over. Interim responses (status 1xx)
/// have heads of their own, which come before it and leave nothing.
///
/// Lines are read byte by byte: a character of Swift may be a separator together with the marks
/// that follow it.
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
        let line = line.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        if isAtStart {
            isAtStart = false
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
            status = words.count > 1 ? Int(String(decoding: words[1], as: UTF8.self)) ?? 0 : 0
            fields = HTTPFields()
        } else if line.isEmpty {
            isAtStart = (100..<200).contains(status)
            isComplete = !isAtStart
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        {
            fields.append(HTTPField(name: name, value: line[(colon + 1)...]))
        }
    }
}

extension HTTPFields {
    /// The first value of a field, which some servers send twice.
    func first(_ name: HTTPField.Name) -> String? { self[values: name].first }
}
#endif
