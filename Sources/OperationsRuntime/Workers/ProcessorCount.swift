/// The number of processors that this process may use, at least 1: the least of the machine's
/// processors, the process's affinity, and the quotas of its control groups.
struct ProcessorCount: Sendable {
    private var groups = ControlGroups(readFile: { readFile($0) })
    private var last: Int?

    /// Counts again. A quota that cannot be read at the moment is assumed not to have changed.
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

/// The quotas of processor time of the control groups that contain this process.
///
/// A process belongs to one group of each hierarchy, and the quota of a group also holds for all
/// groups below it. So the least quota of the group and of all groups above it counts. Both
/// versions of control groups may be present at once.
struct ControlGroups: Sendable {
    enum Quota: Equatable {
        case none
        /// The quota in processors, rounded up.
        case processors(Int)
        /// The quota could not be read.
        case unknown
    }

    /// A mount point at which the groups of a hierarchy appear as directories.
    private struct Mount {
        /// The group that appears as the mount point itself.
        let root: String
        let point: String
        let isUnified: Bool
    }

    private let readFile: @Sendable (String) -> KernelFile
    /// The mounts, looked up only once: processes are moved to other groups, but mounts hardly
    /// change.
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

    /// The quota of the container's root group, used if the process's group is unknown.
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

    /// Returns the quota for the words of its files. "max" and negative numbers mean that there is
    /// no limit.
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

    /// Returns the groups of the process that can have a quota of processor time. Each line
    /// consists of a number, controllers and a path. The line without controllers belongs to the
    /// unified hierarchy.
    private static func groups(in text: [UInt8]) -> [(path: String, isUnified: Bool)] {
        String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return nil }
            if fields[0] == "0", fields[1].isEmpty { return (String(fields[2]), true) }
            guard fields[1].split(separator: ",").contains("cpu") else { return nil }
            return (String(fields[2]), false)
        }
    }

    /// Returns the mounts of control groups that can have quotas; nil if the list of mounts cannot
    /// be read.
    private func findMounts() -> [Mount]? {
        guard case .content(let text) = readFile("/proc/self/mountinfo") else { return nil }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            // Fields: … root, mount point, options, optional fields, "-", type, source, options of
            // the file system.
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

    /// Decodes a field in which blanks and similar characters are written as a backslash and three
    /// octal digits.
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

    /// Returns the directory of a group and the directories of all visible groups above it.
    private static func folders(of path: String, in mount: Mount) -> [String] {
        var names = path.split(separator: "/")
        let root = mount.root.split(separator: "/")
        if names.starts(with: root), !names.contains("..") {
            names.removeFirst(root.count)
        } else {
            // The group is not visible in this mount.
            names = []
        }
        let point = mount.point == "/" ? "" : mount.point
        return (0...names.count).map { count in
            names.prefix(count).reduce(point) { $0 + "/" + $1 }
        }
    }
}
