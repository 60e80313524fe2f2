import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Measures a peer's memory in this fresh process; started by ``Workload/memory``.
struct Memory: ParsableCommand {
    static let configuration = CommandConfiguration(shouldDisplay: false)

    @Argument var peer: Peer
    @Argument var size: Int

    func run() throws {
        let contender = try peer.contender()
        if let bytes = contender.bytesQueued(size) { print(bytes) }
        // Exits without cleanup, because the waiting blocks will never run.
        fflush(nil)
        _exit(0)
    }
}
