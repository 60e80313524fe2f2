import NIOCore
import NIOHTTPTypes

/// Closes a connection whose client misses a deadline, or has too many other connections.
///
/// The deadlines are absolute: single bytes do not extend them. A response is written in parts with
/// a deadline for each, so a client must read at a minimum rate, and a large file may take longer
/// than a small one. All methods run on the connection's event loop.
final class ConnectionLimitHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var deadlines: ConnectionDeadlines
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
    private let connections: ClientConnections?
    /// The client, if its connection is counted.
    private var client: ClientConnections.Client?

    /// The maximum size of a part of a response, in bytes.
    static let partSize = 64 << 10

    /// - Parameter connections: the connections of all clients; nil for no limit on them.
    init(limits: GalleryLimits, connections: ClientConnections? = nil) {
        deadlines = ConnectionDeadlines(limits: limits)
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { opened(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelActive(context: ChannelHandlerContext) {
        opened(context)
        context.fireChannelActive()
    }

    private func opened(_ context: ChannelHandlerContext) {
        handle(context) { $0.opened(at: $1) }
        guard let connections, client == nil,
            let client = ClientConnections.Client(context.channel.remoteAddress)
        else { return }
        guard connections.opened(by: client) else { return context.close(promise: nil) }
        self.client = client
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: handle(context) { $0.headRead(at: $1) }
        case .body: break
        case .end: handle(context) { $0.requestRead(at: $1) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .body(var bytes) = part, bytes.readableBytes > Self.partSize {
            while bytes.readableBytes > Self.partSize,
                let first = bytes.readSlice(length: Self.partSize)
            {
                write(.body(first), context, nil)
            }
            part = .body(bytes)
        }
        write(part, context, promise)
    }

    private func write(
        _ part: HTTPResponsePart, _ context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?
    ) {
        let isEnd = if case .end = part { true } else { false }
        handle(context) { $0.writeBegan(at: $1) }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            handle(context) { $0.writeEnded(at: $1, isEndOfAnswer: isEnd) }
        }
        context.write(wrapOutboundOut(part), promise: written)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output { handle(context) { $0.outputClosed(at: $1) } }
        context.close(mode: mode, promise: promise)
    }

    /// Passes an event to the deadlines and sets the timer for the earliest deadline.
    private func handle(
        _ context: ChannelHandlerContext, _ event: (inout ConnectionDeadlines, NIODeadline) -> Void
    ) {
        event(&deadlines, .now())
        guard context.channel.isActive, let next = deadlines.next else { return }
        // A timer that fires too early checks again: most deadlines are extended before they
        // expire.
        if let timer, timer.deadline <= next { return }
        timer?.scheduled.cancel()
        setTimer(context, at: next)
    }

    private func setTimer(_ context: ChannelHandlerContext, at deadline: NIODeadline) {
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            [self] in
            timer = nil
            guard let next = deadlines.next else { return }
            if next <= .now() {
                context.close(promise: nil)
            } else {
                setTimer(context, at: next)
            }
        }
        timer = (deadline, scheduled)
    }

    private func stop() {
        if let client { connections?.closed(by: client) }
        client = nil
        timer?.scheduled.cancel()
        timer = nil
    }
}
