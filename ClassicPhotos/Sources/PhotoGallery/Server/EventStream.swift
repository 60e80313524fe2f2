import Hummingbird
import NIOCore
import PhotoLibrary
import ServiceLifecycle

/// Sends the changes of a page's list as server-sent events.
///
/// A slow page receives fewer messages, but no outdated ones: changes between two messages are
/// collected, and a row that changes twice is sent once.
struct EventStream: Sendable {
    private let session: PhotoListSession
    private let number: UInt32
    private let latest: EventID?

    /// The minimum time between two messages: most screens show no more in it than one frame.
    private static let pause: Duration = .milliseconds(16)
    /// The minimum time between two states of the machinery.
    private static let enginePause: Duration = .milliseconds(200)
    /// The interval of heartbeats while nothing changes, which reveal a dead connection.
    private static let heartbeat: Duration = .seconds(15)

    /// - Parameters:
    ///   - page: the page's session and the session's number.
    ///   - latest: the identifier of the last state that the page has received; nil for a new page.
    init(_ page: (session: PhotoListSession, number: UInt32), after latest: EventID?) {
        (session, number) = page
        self.latest = latest
    }

    /// What the page has missed, or everything if that is unknown.
    private func firstUpdate() async -> (update: PhotoListSession.Update, isResumed: Bool) {
        if let latest, latest.session == number,
            let missed = await session.takeUpdate(since: latest.revision)
        {
            return (missed, true)
        }
        return (await session.takeSnapshot(), false)
    }

    /// Writes events until the session is closed or the page is gone.
    func write(to writer: inout any ResponseBodyWriter) async throws {
        let changes = await session.subscribe()
        var message = EventMessage()
        let (first, isResumed) = await firstUpdate()
        try message.addHello(first.list, isResumed: isResumed)
        var sent = try message.add(first, since: nil)
        message.addID(EventID(session: number, revision: first.revision))
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
            let update = await session.takeUpdate()
            sent = try message.add(update, since: sent)
            if !update.rows.isEmpty {
                message.addID(EventID(session: number, revision: update.revision))
            }
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
