import OperationsRuntime

#if os(Linux)
import Glibc

/// Reads a file of `/proc`; nil if there is none.
package func readText(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var text: [UInt8] = []
    while case let byte = fgetc(file), byte >= 0 { text.append(UInt8(byte)) }
    return String(decoding: text, as: UTF8.self)
}

/// The threads of the pool as the kernel lists them.
package func poolThreads() -> [(id: Int, name: String)] {
    guard let folder = opendir("/proc/self/task") else { return [] }
    defer { closedir(folder) }
    var threads: [(id: Int, name: String)] = []
    while let entry = readdir(folder) {
        let number = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            Int(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
        guard let number, let name = readText("/proc/self/task/\(number)/comm"),
            name.hasPrefix("Operations-")
        else { continue }
        threads.append((number, String(name.dropLast())))
    }
    return threads
}

/// Whether the calling thread is one of the pool's, also while the pool counts it as blocked.
package var isOnWorker: Bool {
    readText("/proc/thread-self/comm")?.hasPrefix("Operations-") == true
}
#else
/// Whether the calling thread is one of the pool's.
package var isOnWorker: Bool { ThreadContext.existing?.activeWorker != nil }
#endif
