import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Converts Ctrl-C and similar signals into cancellation.
enum Interrupt {
    /// Runs a body that SIGINT or SIGTERM cancels, and returns whether a signal arrived.
    ///
    /// A second signal ends the program immediately.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> (value: Value, isInterrupted: Bool) {
        let signals = [SIGINT, SIGTERM]
        let (listens, listening) = AsyncStream<Void>.makeStream()
        let task = Task {
            // Wait until all handlers are installed: an earlier signal would be lost.
            for await _ in listens.prefix(signals.count) {}
            return await body()
        }
        let sources = signals.map { signal in
            _ = Self.setHandler(signal, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: signal, queue: .global())
            source.setEventHandler {
                // A second signal ends the program, without half a line on the terminal.
                if task.isCancelled {
                    if Terminal.canRewriteLines { Terminal.writeError(Terminal.eraseLine) }
                    _exit(ExitCodes.interrupted)
                }
                task.cancel()
            }
            source.setRegistrationHandler { listening.yield() }
            source.resume()
            return source
        }
        let value = await task.value
        for source in sources { source.cancel() }
        return (value, task.isCancelled)
    }

    private typealias Handler = @convention(c) (Int32) -> Void

    private static func setHandler(_ signal: Int32, _ handler: Handler?) -> Handler? {
        #if canImport(Glibc)
        Glibc.signal(signal, handler)
        #elseif canImport(Musl)
        Musl.signal(signal, handler)
        #else
        Darwin.signal(signal, handler)
        #endif
    }
}
