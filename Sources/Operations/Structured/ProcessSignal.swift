#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A signal that asks a process to end; see
/// ``OperationQueue/shutDown(on:_:grace:cancelsWaiting:)``.
public struct ProcessSignal: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The system's number of the signal.
    public let rawValue: Int32

    /// Makes a signal of the system's number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Ctrl-C in a terminal.
    public static let sigint = ProcessSignal(rawValue: SIGINT)
    /// The request to end that service managers and Kubernetes send, and `kill` by default.
    public static let sigterm = ProcessSignal(rawValue: SIGTERM)
    /// The terminal has been closed.
    public static let sighup = ProcessSignal(rawValue: SIGHUP)
    /// Ctrl-\ in a terminal.
    public static let sigquit = ProcessSignal(rawValue: SIGQUIT)

    /// The signal's name, or its number.
    public var description: String {
        switch self {
        case .sigint: "SIGINT"
        case .sigterm: "SIGTERM"
        case .sighup: "SIGHUP"
        case .sigquit: "SIGQUIT"
        default: "signal \(rawValue)"
        }
    }
}
