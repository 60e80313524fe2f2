public import Hummingbird
public import NIOCore
public import NIOHTTPTypes

/// Tells the requests of a connection that the client has left.
///
/// Each server adds one handler to each connection, and its requests wait with
/// ``ConnectedContext/whileConnected(_:)``.
///
/// A browser that no longer wants a picture closes the connection: it closes its side of it, or
/// resets it. The connection's event loop then calls the actions of the requests that are being
/// answered, so that their work is cancelled. All methods run on the event loop.
public final class DepartureHandler: ChannelInboundHandler, RemovableChannelHandler {
    /// What the handler is told of.
    public typealias InboundIn = HTTPRequestPart
    /// What it passes on.
    public typealias InboundOut = HTTPRequestPart

    private var actions: [Int: @Sendable () -> Void] = [:]
    private var lastNumber = 0
    private var hasLeft = false

    /// Creates the handler of one connection.
    public init() {}

    /// The connection was closed.
    public func channelInactive(context: ChannelHandlerContext) {
        clientLeft()
        context.fireChannelInactive()
    }

    /// The client has closed its side of the connection, or something else has happened.
    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { clientLeft() }
        context.fireUserInboundEventTriggered(event)
    }

    private func clientLeft() {
        hasLeft = true
        let actions = actions.values
        self.actions = [:]
        for action in actions { action() }
    }

    /// Registers an action, which is called once, immediately if the client has left already.
    fileprivate func register(_ action: @escaping @Sendable () -> Void) -> Int {
        lastNumber += 1
        if hasLeft { action() } else { actions[lastNumber] = action }
        return lastNumber
    }

    fileprivate func remove(_ number: Int) { actions[number] = nil }
}

/// The context of a request that knows the request's connection.
public protocol ConnectedContext: RequestContext {
    /// The connection that received the request.
    var channel: any Channel { get }
}

extension ConnectedContext {
    /// Runs a body, and cancels it if the client closes the connection meanwhile.
    public func whileConnected<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await body() }
        let channel = channel
        let number = try await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: DepartureHandler.self)
                .register { task.cancel() }
        }.get()
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        channel.eventLoop.execute {
            try? channel.pipeline.syncOperations.handler(type: DepartureHandler.self)
                .remove(number)
        }
        return try result.get()
    }
}
