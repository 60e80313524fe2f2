import Hummingbird
import NIOCore
import PhotoPipeline
import ServiceLifecycle

/// Tells one page what happens to its list, as server-sent events.
///
/// A page that reads slowly is told less often, never more late: between two messages changes are
/// gathered, and a row that changed twice is told once.
struct EventStream: Sendable {
    private let session: PhotoListSession
    private let total: Int

    /// The shortest time between two messages: a screen shows no more anyway.
    private static let pause: Duration = .milliseconds(40)
    /// How often something is sent if nothing happens, so that a dead connection is noticed.
    private static let heartbeat: Duration = .seconds(15)

    init(session: PhotoListSession, total: Int) {
        self.session = session
        self.total = total
    }

    /// Writes until the session is closed or the page is gone.
    func write(to writer: inout any ResponseBodyWriter) async throws {
        let changes = await session.listen()
        var message = EventMessage()
        try message.addHello(total: total)
        var told = try message.add(await session.allNews(), since: nil)
        try await writer.write(message.buffer)

        let heart = Task {
            while true {
                try await Task.sleep(for: Self.heartbeat)
                await session.ring()
            }
        }
        defer { heart.cancel() }
        // Without this the program could not end while a page is open: the server waits for streams.
        for await _ in changes.cancelOnGracefulShutdown() {
            var message = EventMessage()
            told = try message.add(await session.takeNews(), since: told)
            if message.isEmpty { message.addHeartbeat() }
            try await writer.write(message.buffer)
            try await Task.sleep(for: Self.pause)
        }
    }
}
