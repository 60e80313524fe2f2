import Landscapes
public import Logging

extension DemoOriginServer {
    /// The contents and the speed of a server.
    public struct Configuration: Sendable {
        /// The port, or 0 for any free port.
        public var port = 0
        /// The number of entries in the list.
        public var count = 240
        /// Whether the list contains bad entries.
        public var faults = true
        /// The delay before the first byte of a photo.
        ///
        /// Each photo has its own delay in this range, the same for every request. Lists and
        /// `/faults/…` have no delay.
        public var latency: ClosedRange<Duration> = .milliseconds(80) ... .milliseconds(400)
        /// The duration of the list's very slow transfers, from the first byte to the last.
        public var slowTransfer: Duration = .seconds(20)
        /// The longer side of every picture in pixels, or `nil` for the size of a camera picture.
        ///
        /// Use a small size in unoptimized builds.
        public var longestSide: Int?
        /// The maximum size of the cache of finished files, in bytes.
        public var cacheBytes = 192 << 20
        /// The maximum number of pictures rendered at the same time.
        public var threads = 2
        /// The logger of the server; only critical messages by default.
        public var logger: Logger

        /// The demo for people: 240 entries, some of them bad, over a typical connection.
        public init() {
            logger = Logger(label: "demo-origin")
            // The underlying server reports every stop as an error, because it sees a cancellation.
            logger.logLevel = .critical
        }

        /// A configuration for tests: small pictures and no delays.
        public static var quick: Configuration {
            var configuration = Configuration()
            configuration.latency = .zero ... .zero
            configuration.longestSide = 48
            configuration.slowTransfer = .milliseconds(200)
            return configuration
        }

        /// The delay of an entry of the list.
        func delay(_ index: Int) -> Duration {
            var random = Random(seed: UInt64(index) &+ 0xA11CE)
            let span = latency.upperBound - latency.lowerBound
            return latency.lowerBound + span * Double(random.unit())
        }
    }
}

/// The reason why an origin did not start.
public enum DemoOriginError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The port could not be opened; 0 stands for "any".
    case cannotListen(port: Int, reason: String)

    /// A sentence for people: the cause and what to do.
    public var description: String {
        switch self {
        case .cannotListen(let port, let reason):
            "the demo's photo origin cannot listen on 127.0.0.1, port \(port) (\(reason)); "
                + "choose another port, or 0 for any free port"
        }
    }
}
