#if DurableJobs
import OperationsRuntime
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// What leases need to know about the machine and the process.
enum Machine {
    /// The name of the machine.
    static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }()

    static let process = Int(getpid())

    /// Identifies the process among all. Containers may have one name, and one process number each.
    static let processIdentity = UUID().uuidString

    static let processorCount = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Identifies the present start of the machine.
    static let boot: String = {
        #if canImport(Darwin)
        var identifier = [UInt8](repeating: 0, count: 64)
        var size = identifier.count
        guard sysctlbyname("kern.bootsessionuuid", &identifier, &size, nil, 0) == 0 else {
            return "unknown"
        }
        return String(decoding: identifier.prefix { $0 != 0 }, as: UTF8.self)
        #else
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text.map { String($0.filter { !$0.isWhitespace }) } ?? "unknown"
        #endif
    }()

    /// Blocks the thread for half a millisecond.
    static func pause() { usleep(500) }

    /// The time since that start, also while the machine sleeps.
    static var timeSinceBoot: Duration { .nanoseconds(Int64(continuousNanoseconds())) }
}
#endif
