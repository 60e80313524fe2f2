/// One thing that a test scheduler has made happen.
public struct Step: Sendable, Hashable, CustomStringConvertible {
    /// What it was.
    public enum Kind: String, Sendable {
        /// An operation began; of an async body the part up to where it first waited was run.
        case start
        /// A slot of a queue took an operation, and others went on before it began.
        case take
        /// A cancelled operation left its queue without its work.
        case leave
        /// An async body went on, up to where it waited again, or to its end.
        case resume
        /// A sleep, or a delay of the queue's, was over.
        case timer
        /// A completion block was run.
        case completion
        /// One block of an operation with several was run.
        case block
    }

    /// What it was.
    public let kind: Kind
    /// What it happened to: the name of an operation in quotation marks, or its number in its queue.
    public let name: String

    /// As in "start 'feed'".
    public var description: String { "\(kind.rawValue) \(name)" }
}
