import PhotoLibrary

/// The identifier of a state of a page's rows, which a browser sends back when it reconnects.
///
/// A page keeps its identifier when the server has forgotten its session, so the text also names
/// the session.
struct EventID: Equatable {
    let session: UInt32
    let revision: Int

    var text: String { "\(session).\(revision)" }

    init(session: UInt32, revision: Int) {
        self.session = session
        self.revision = revision
    }

    /// Parses the value of a `Last-Event-ID` header; nil for anything that this server has not
    /// sent.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let session = UInt32(parts[0]), let revision = Int(parts[1]) else {
            return nil
        }
        self.init(session: session, revision: revision)
    }
}
