#if DurableJobsDashboard
import DurableJobs
import HTTPTypes

/// A request, as far as the dashboard understands it.
struct DashboardRequest {
    enum Target: Equatable {
        case overview
        case style
        case script
        case queue(String)
        case job(queue: String, id: JobID)
        case change(Change, queue: String, id: JobID)
    }

    enum Change: String, CaseIterable {
        case retry
        case cancel
    }

    let target: Target
    /// The values of the address behind the question mark.
    let query: [String: String]

    /// - Parameters:
    ///   - path: the path of the request, with its query.
    ///   - root: the path of the dashboard, without a slash at its end.
    /// - Returns: nil if the dashboard has no such address.
    init?(_ path: String, below root: String) {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first, address.hasPrefix(root) else { return nil }
        let below = address.dropFirst(root.count)
        guard below.isEmpty || below.hasPrefix("/") else { return nil }
        let names = below.split(separator: "/").map { String($0).decodedFromAddress() }
        guard let names = names.allPresent else { return nil }
        switch (names.count, names.first) {
        case (0, _): target = .overview
        case (1, "style.css"): target = .style
        case (1, "refresh.js"): target = .script
        case (2, "queue"): target = .queue(names[1])
        case (4, "queue") where names[2] == "job":
            guard let id = Int64(names[3]) else { return nil }
            target = .job(queue: names[1], id: JobID(id))
        case (5, "queue") where names[2] == "job":
            guard let id = Int64(names[3]), let change = Change(rawValue: names[4]) else {
                return nil
            }
            target = .change(change, queue: names[1], id: JobID(id))
        default: return nil
        }
        query = parts.count > 1 ? Self.values(of: String(parts[1])) : [:]
    }

    /// The values of a query, or of a form. Of several with one name the last counts.
    static func values(of text: String) -> [String: String] {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String($0).decodedFromAddress(plusIsSpace: true) }
            guard let parts = parts.allPresent else { continue }
            values[parts[0]] = parts.count > 1 ? parts[1] : ""
        }
        return values
    }
}

extension [String?] {
    /// The elements; nil if one of them is nil.
    fileprivate var allPresent: [String]? {
        let present = compactMap(\.self)
        return present.count == count ? present : nil
    }
}
#endif
