public import Logging

extension DemoOriginServer {
    /// What a server offers, and how slowly.
    public struct Configuration: Sendable {
        /// The port, or 0 for any that is free.
        public var port = 0
        /// How many lines the list has.
        public var count = 240
        /// Whether some lines of the list are bad.
        public var faults = true
        /// How long a photo waits before its first byte; each has its own wait in this range, the
        /// same at every request. Lists and `/faults/…` do not wait.
        public var latency: ClosedRange<Duration> = .milliseconds(80) ... .milliseconds(400)
        /// How long the list's very slow photos take from the first byte to the last.
        public var slowTransfer: Duration = .seconds(20)
        /// The longer side of every picture in pixels, or `nil` for that of a camera. Unoptimised
        /// builds want it small.
        public var longestSide: Int?
        /// How many bytes of finished files are kept.
        public var cacheBytes = 192 << 20
        /// How many pictures are rendered at the same time.
        public var threads = 2
        /// Where the server says what it does; silent unless told otherwise.
        public var logger: Logger

        /// The demo as people see it: 240 lines, some of them bad, over a fair connection.
        public init() {
            logger = Logger(label: "demo-origin")
            // The server below reports every stop as an error, because it sees a cancellation.
            logger.logLevel = .critical
        }

        /// For tests: small pictures, no waiting.
        public static var quick: Configuration {
            var configuration = Configuration()
            configuration.latency = .zero ... .zero
            configuration.longestSide = 48
            configuration.slowTransfer = .milliseconds(200)
            return configuration
        }

        /// The wait of one line of the list.
        func delay(_ index: Int) -> Duration {
            var random = Random(seed: UInt64(index) &+ 0xA11CE)
            let span = latency.upperBound - latency.lowerBound
            return latency.lowerBound + span * Double(random.unit())
        }
    }
}

/// Why an origin did not start.
public enum DemoOriginError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The port could not be opened; 0 stands for "any".
    case cannotListen(port: Int, reason: String)

    /// For people: what happened and what to do.
    public var description: String {
        switch self {
        case .cannotListen(let port, let reason):
            "the demo's photo origin cannot listen on 127.0.0.1, port \(port) (\(reason)); "
                + "choose another port, or 0 for any that is free"
        }
    }
}
