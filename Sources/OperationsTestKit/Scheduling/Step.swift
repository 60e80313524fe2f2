extension TestScheduler {
    /// One event that a test scheduler has made happen.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        /// The kind of a step.
        public enum Kind: String, Sendable {
            /// An operation began. Of an async body, the part up to its first wait ran.
            case start
            /// A slot of a queue claimed an operation, and other events happened before the
            /// operation began.
            case claim
            /// A cancelled operation left its queue without running its body.
            case leave
            /// An async body continued, up to its next wait or to its end.
            case resume
            /// A sleep, or a delay of a queue, was over.
            case timer
            /// A completion block ran.
            case completion
            /// One block of an operation with several blocks ran.
            case block
        }

        /// The kind of the step.
        public let kind: Kind
        /// The subject of the step: the name of an operation in quotation marks, or its number in
        /// its queue.
        public let name: String

        /// The kind and the name, as in "start 'feed'".
        public var description: String { "\(kind.rawValue) \(name)" }
    }
}
