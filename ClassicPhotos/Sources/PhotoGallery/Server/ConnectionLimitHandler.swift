import NIOCore
import NIOHTTPTypes

/// Closes a connection whose client misses a deadline.
///
/// The deadlines are absolute: single bytes do not extend them. All methods run on the connection's
/// event loop.
final class ConnectionLimitHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var deadlines: ConnectionDeadlines
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?

    init(limits: GalleryLimits) { deadlines = ConnectionDeadlines(limits: limits) }

    func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        handle(context) { $0.opened(at: $1) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelActive(context: ChannelHandlerContext) {
        handle(context) { $0.opened(at: $1) }
        context.fireChannelActive()
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
        let isEnd = if case .end = unwrapOutboundIn(data) { true } else { false }
        handle(context) { $0.writeBegan(at: $1) }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            handle(context) { $0.writeEnded(at: $1, isEndOfAnswer: isEnd) }
        }
        context.write(data, promise: written)
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
        timer?.scheduled.cancel()
        timer = nil
    }
}
