import Hummingbird
import NIOCore
import PhotoPipeline
import ServiceLifecycle

/// Sends the changes of a page's list as server-sent events.
///
/// A slow page receives fewer messages, but no outdated ones: changes between two messages are
/// collected, and a row that changes twice is sent once.
struct EventStream: Sendable {
    private let session: PhotoListSession
    private let total: Int

    /// The minimum time between two messages: a screen cannot show more.
    private static let pause: Duration = .milliseconds(40)
    /// The minimum time between two states of the machinery.
    private static let enginePause: Duration = .milliseconds(200)
    /// The interval of heartbeats while nothing changes, which reveal a dead connection.
    private static let heartbeat: Duration = .seconds(15)

    init(session: PhotoListSession, total: Int) {
        self.session = session
        self.total = total
    }

    /// Writes events until the session is closed or the page is gone.
    func write(to writer: inout any ResponseBodyWriter) async throws {
        let changes = await session.subscribe()
        var message = EventMessage()
        try message.addHello(total: total)
        var sent = try message.add(await session.takeSnapshot(), since: nil)
        try await writer.write(message.buffer)

        let heartbeats = Task {
            while true {
                try await Task.sleep(for: Self.heartbeat)
                await session.signalHeartbeat()
            }
        }
        defer { heartbeats.cancel() }
        var engine = EngineFeed()
        var latestEngine: ContinuousClock.Instant?
        // Without the cancellation, the program could not end while a page is open, because the
        // server waits for open streams.
        for await _ in changes.cancelOnGracefulShutdown() {
            var message = EventMessage()
            sent = try message.add(await session.takeUpdate(), since: sent)
            let isDue = latestEngine.map { .now - $0 >= Self.enginePause } ?? true
            if isDue, await session.isEngineWatched {
                latestEngine = .now
                try message.add(engine.event(await session.engineState(since: engine.start)))
            }
            if message.isEmpty { message.addHeartbeat() }
            try await writer.write(message.buffer)
            try await Task.sleep(for: Self.pause)
        }
    }
}
