import Hummingbird
import NIOCore

/// What is known of a request beside the request.
struct GalleryRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The port on which the request came.
    let port: Int
    /// The bytes that a request's body may have. Reports have a hundred.
    let maxUploadSize = 16 << 10

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        port = source.channel.localAddress?.port ?? 0
    }
}
