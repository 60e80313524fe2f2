import Departures
import Hummingbird
import NIOCore

/// The context of a request: data that is not part of the request itself.
struct GalleryRequestContext: ConnectedContext {
    var coreContext: CoreRequestContextStorage
    /// The port that received the request.
    let port: Int
    let channel: any Channel
    /// The maximum size of a request's body, in bytes. Reports have about a hundred bytes.
    let maxUploadSize = 16 << 10

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
        port = source.channel.localAddress?.port ?? 0
    }
}
