#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// A file with the seed of the round that runs, and how many rounds there have been. It survives
/// the crash of the process that writes it.
struct SeedRecord {
    struct Entry {
        var seed: UInt64
        var rounds: Int
    }

    private let file: Int32

    /// Opens the file to write to it.
    init?(path: String) {
        file = open(path, O_CREAT | O_WRONLY, 0o600)
        if file < 0 { return nil }
    }

    func write(_ entry: Entry) {
        var words = [entry.seed, UInt64(entry.rounds)]
        _ = pwrite(file, &words, 16, 0)
    }

    /// Reads the file that another process has written; nil if that process has begun no round.
    static func read(path: String) -> Entry? {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var words: [UInt64] = [0, 0]
        guard pread(file, &words, 16, 0) == 16 else { return nil }
        return Entry(seed: words[0], rounds: Int(words[1]))
    }
}
