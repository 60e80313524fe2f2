/// How many processors this process may use: those of the machine, its affinity, and the quotas of its
/// control groups, at least 1.
struct ProcessorCount: Sendable {
    private var groups = ControlGroups(readFile: { readFile($0) })
    private var last: Int?

    /// Counts anew. A quota that cannot be read at the moment is taken to be as it was.
    mutating func count() -> Int {
        let processors = min(machineProcessorCount, affinityCount ?? .max)
        switch groups.quota() {
        case .none: last = nil
        case .processors(let count): last = count
        case .unknown: break
        }
        return max(1, min(processors, last ?? .max))
    }
}

/// The quotas of processor time of the control groups that this process is in.
///
/// A process is in a group of each hierarchy, and a quota holds for all that is below its group too; so the least
/// one of the group and of all above it counts. Both versions of control groups may be there at once.
struct ControlGroups: Sendable {
    enum Quota: Equatable {
        case none
        /// Rounded up.
        case processors(Int)
        /// It could not be read.
        case unknown
    }

    /// Where the groups of a hierarchy are shown as folders.
    private struct Mount {
        /// The group that is shown as the mount point itself.
        let root: String
        let point: String
        let isUnified: Bool
    }

    private let readFile: @Sendable (String) -> KernelFile
    /// They are looked up once: processes are moved to other groups, but mounts hardly change.
    private var mounts: [Mount]?

    init(readFile: @escaping @Sendable (String) -> KernelFile) { self.readFile = readFile }

    mutating func quota() -> Quota {
        guard case .content(let text) = readFile("/proc/self/cgroup") else { return usualQuota }
        guard let mounts = mounts ?? findMounts() else { return usualQuota }
        self.mounts = mounts
        let groups = Self.groups(in: text)
        let folders = mounts.flatMap { mount in
            groups.filter { $0.isUnified == mount.isUnified }.flatMap { group in
                Self.folders(of: group.path, in: mount).map { ($0, mount.isUnified) }
            }
        }
        return Self.least(folders.map { quota(of: $0.0, isUnified: $0.1) })
    }

    /// Where nothing says which group the process is in: that of the container's root.
    private var usualQuota: Quota {
        let folder = "/sys/fs/cgroup"
        return Self.least([
            quota(of: folder, isUnified: true), quota(of: folder + "/cpu", isUnified: false),
        ])
    }

    private static func least(_ quotas: [Quota]) -> Quota {
        if quotas.contains(.unknown) { return .unknown }
        let counts = quotas.compactMap { quota -> Int? in
            guard case .processors(let count) = quota else { return nil }
            return count
        }
        return counts.min().map { .processors($0) } ?? .none
    }

    // MARK: One group

    private func quota(of folder: String, isUnified: Bool) -> Quota {
        if isUnified {
            return quota(words(of: folder + "/cpu.max")) { words in
                words.count == 2 ? (words[0], words[1]) : nil
            }
        }
        let files = ["/cpu.cfs_quota_us", "/cpu.cfs_period_us"].map { words(of: folder + $0) }
        if files.contains(.unreadable) { return .unknown }
        return quota(files[0]) { quota in
            guard case .words(let period) = files[1], let first = quota.first else { return nil }
            return period.first.map { (first, $0) }
        }
    }

    private enum Words: Equatable {
        case words([String])
        case missing
        case unreadable
    }

    private func words(of path: String) -> Words {
        switch readFile(path) {
        case .missing: return .missing
        case .unreadable: return .unreadable
        case .content(let text):
            let words = String(decoding: text, as: UTF8.self).split { $0 == " " || $0 == "\n" }
            return .words(words.map(String.init))
        }
    }

    /// "max" or a negative number stand for no limit.
    private func quota(_ words: Words, _ pair: ([String]) -> (String, String)?) -> Quota {
        switch words {
        case .missing: return .none
        case .unreadable: return .unknown
        case .words(let words):
            guard let (quota, period) = pair(words), let time = Int(quota), let span = Int(period),
                time > 0, span > 0
            else { return .none }
            return .processors(time / span + (time % span > 0 ? 1 : 0))
        }
    }

    // MARK: Finding the groups

    /// The process's groups as far as they can have a quota of processor time: lines of number, controllers and
    /// path. The line without controllers is that of the unified hierarchy.
    private static func groups(in text: [UInt8]) -> [(path: String, isUnified: Bool)] {
        String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return nil }
            if fields[0] == "0", fields[1].isEmpty { return (String(fields[2]), true) }
            guard fields[1].split(separator: ",").contains("cpu") else { return nil }
            return (String(fields[2]), false)
        }
    }

    /// Nil if that cannot be read.
    private func findMounts() -> [Mount]? {
        guard case .content(let text) = readFile("/proc/self/mountinfo") else { return nil }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            // … root, mount point, options, optional fields, "-", type, source, options of the file system
            let fields = line.split(separator: " ")
            guard let end = fields.firstIndex(of: "-"), end >= 6, fields.count > end + 3 else {
                return nil
            }
            let isUnified = fields[end + 1] == "cgroup2"
            let hasQuotas =
                isUnified
                || fields[end + 1] == "cgroup"
                    && fields[end + 3].split(separator: ",").contains("cpu")
            guard hasQuotas else { return nil }
            return Mount(
                root: Self.unescaped(fields[3]), point: Self.unescaped(fields[4]),
                isUnified: isUnified)
        }
    }

    /// Blanks and the like are written as a backslash and three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = field.utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let code = UInt8(String(Substring(digits)), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The folder of a group, and those of all above it that are shown.
    private static func folders(of path: String, in mount: Mount) -> [String] {
        var names = path.split(separator: "/")
        let root = mount.root.split(separator: "/")
        if names.starts(with: root), !names.contains("..") {
            names.removeFirst(root.count)
        } else {
            // The group is outside of what is shown.
            names = []
        }
        let point = mount.point == "/" ? "" : mount.point
        return (0...names.count).map { count in
            names.prefix(count).reduce(point) { $0 + "/" + $1 }
        }
    }
}
