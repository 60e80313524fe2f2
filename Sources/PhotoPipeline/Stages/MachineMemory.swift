#if PhotoPipeline
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The memory that this process may use.
@_spi(ClassicPhotos) public enum MachineMemory {
    /// The memory of the machine in bytes, or the limit of the process's control group if that is
    /// less: containers and system services usually have one.
    ///
    /// Reads some small files of the system on Linux.
    public static var available: Int {
        let machine = Int(clamping: ProcessInfo.processInfo.physicalMemory)
        let group = groupLimit { try? String(contentsOfFile: $0, encoding: .utf8) }
        return min(machine, group ?? machine)
    }

    /// The least limit of a process's control group and of the groups around it, in bytes; nil
    /// without a limit.
    ///
    /// The files are those of the Linux kernel's documentation: `memory.max` of version 2 of
    /// control groups, `memory.limit_in_bytes` of version 1. A container often sees its own group
    /// as the root.
    ///
    /// - Parameter contents: the contents of a file; nil if it cannot be read.
    static func groupLimit(_ contents: (String) -> String?) -> Int? {
        var limits: [Int] = []
        for line in (contents("/proc/self/cgroup") ?? "").split(separator: "\n") {
            // The number of the hierarchy, its controllers, and the path of the group.
            let fields = line.split(
                separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let root: String
            let name: String
            switch (fields[0], fields[1].split(separator: ",").contains("memory")) {
            case ("0", _): (root, name) = ("/sys/fs/cgroup", "memory.max")
            case (_, true): (root, name) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            default: continue
            }
            var path = fields[2].split(separator: "/")
            while true {
                let folder = path.reduce(root) { "\($0)/\($1)" }
                let text = contents("\(folder)/\(name)") ?? ""
                // The text "max" stands for no limit.
                if let limit = Int(text.filter { $0 != "\n" }) { limits.append(limit) }
                guard path.popLast() != nil else { break }
            }
        }
        return limits.min()
    }
}
#endif
