extension TestScheduler {
    /// Thrown by ``check(_:_:fileID:line:)``.
    public struct CheckFailure: Error, Sendable, CustomStringConvertible {
        /// The comment of the check; may be empty.
        public let comment: String
        /// The file of the check, as `Module/File.swift`.
        public let file: String
        /// The line of the check.
        public let line: Int

        /// The place of the check, and its comment.
        public var description: String {
            "\(file):\(line): check failed\(comment.isEmpty ? "" : ": \(comment)")"
        }
    }

    /// Throws if the condition is false.
    ///
    /// For the bodies of explorations, which cannot see the issues that Swift Testing records. The
    /// condition may be about anything: the method belongs to the scheduler because each body has
    /// one.
    public func check(
        _ condition: Bool, _ comment: @autoclosure () -> String = "", fileID: String = #fileID,
        line: Int = #line
    ) throws(CheckFailure) {
        if !condition { throw CheckFailure(comment: comment(), file: fileID, line: line) }
    }
}
