#if DurableJobsDashboard
import DurableJobs
import HTTPTypes

/// A request, as far as the dashboard understands it.
struct DashboardRequest {
    /// A queue of a store.
    struct Place: Equatable {
        /// The title of the store; empty for the only one.
        var store = ""
        var queue: String
    }

    enum Target: Equatable {
        case overview
        case style
        case script
        case queue(Place)
        case job(Place, JobID)
        case change(Change, Place)
    }

    enum Change: Equatable {
        case retry(JobID)
        case cancel(JobID)
        case pause
        case resume
        case pauseSchedule(String)
        case resumeSchedule(String)
        case runSchedule(String)
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
        guard let names = names.allPresent, let target = Self.target(names[...]) else {
            return nil
        }
        self.target = target
        query = parts.count > 1 ? Self.values(of: String(parts[1])) : [:]
    }

    private static func target(_ names: ArraySlice<String>) -> Target? {
        switch Array(names) {
        case []: return .overview
        case ["style.css"]: return .style
        case ["refresh.js"]: return .script
        default: break
        }
        var rest = names
        var store = ""
        if rest.first == "in", rest.count > 2 {
            store = rest[rest.startIndex + 1]
            rest = rest.dropFirst(2)
        }
        guard rest.count > 1, rest.removeFirst() == "queue" else { return nil }
        let place = Place(store: store, queue: rest.removeFirst())
        switch (rest.count, rest.first) {
        case (0, _): return .queue(place)
        case (1, "pause"): return .change(.pause, place)
        case (1, "resume"): return .change(.resume, place)
        case (2, "job"): return jobID(rest.last).map { .job(place, $0) }
        case (3, "job"):
            guard let id = jobID(rest[rest.startIndex + 1]) else { return nil }
            switch rest.last {
            case "retry": return .change(.retry(id), place)
            case "cancel": return .change(.cancel(id), place)
            default: return nil
            }
        case (3, "schedule"):
            let name = rest[rest.startIndex + 1]
            switch rest.last {
            case "pause": return .change(.pauseSchedule(name), place)
            case "resume": return .change(.resumeSchedule(name), place)
            case "run": return .change(.runSchedule(name), place)
            default: return nil
            }
        default: return nil
        }
    }

    private static func jobID(_ text: String?) -> JobID? {
        text.flatMap { Int64($0) }.map { JobID($0) }
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
