/// Thrown by ``check(_:_:fileID:line:)``.
public struct CheckFailure: Error, Sendable, CustomStringConvertible {
    /// What was said about the check; may be empty.
    public let comment: String
    /// Where it is, as `Module/File.swift`.
    public let file: String
    /// The line there.
    public let line: Int

    /// Where, and what was said.
    public var description: String {
        "\(file):\(line): check failed\(comment.isEmpty ? "" : ": \(comment)")"
    }
}

/// Throws if the condition does not hold; for the bodies of explorations, which cannot see the issues that
/// Swift Testing records.
public func check(
    _ condition: Bool, _ comment: @autoclosure () -> String = "", fileID: String = #fileID,
    line: Int = #line
) throws(CheckFailure) {
    if !condition { throw CheckFailure(comment: comment(), file: fileID, line: line) }
}
