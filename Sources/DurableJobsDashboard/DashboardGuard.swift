#if DurableJobsDashboard
import HTTPTypes

/// Refuses changes that a page of another site has sent with the rights of its visitor.
///
/// Each form has a token that only the dashboard's own pages contain, and that other sites cannot
/// read. Besides, the browser says from which site a form comes, and that has to be this one.
struct DashboardGuard: Sendable {
    /// 128 random bits, made when the dashboard is.
    let token: String

    init() {
        var random = SystemRandomNumberGenerator()
        let words = [UInt64](unsafeUninitializedCapacity: 2) { buffer, count in
            for index in 0..<2 { buffer.initializeElement(at: index, to: random.next()) }
            count = 2
        }
        token = words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Returns why a change is refused; nil if it is allowed.
    func refusal(of request: HTTPRequest, _ form: [String: String]) -> String? {
        if let site = request.headerFields[.fetchSite], site != "same-origin" {
            return "The request comes from another site."
        }
        if let origin = request.headerFields[.origin], let host = request.authority,
            !origin.hasSuffix("://\(host)")
        {
            return "The request comes from \(origin), and not from \(host)."
        }
        guard let sent = form["token"], isToken(sent) else {
            return "The form is from before the server was started. Load the page again."
        }
        return nil
    }

    /// Takes the same time for every wrong token of the right length.
    private func isToken(_ text: String) -> Bool {
        let (sent, own) = (Array(text.utf8), Array(token.utf8))
        guard sent.count == own.count else { return false }
        return zip(sent, own).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension HTTPField.Name {
    fileprivate static var fetchSite: Self { Self("Sec-Fetch-Site").unsafelyUnwrapped }
}
#endif
