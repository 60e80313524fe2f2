import Dispatch
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

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
#endif

/// Tells when a file appears, changes or goes in the folders of a list.
///
/// The system tells of changes (inotify on Linux), so that a watch costs nothing while nothing
/// changes. The system does not tell of changes that another machine makes in a network folder.
/// Therefore look at the list from time to time, too.
public final class FolderWatch: Sendable {
    /// How well the system watches the folders of a list.
    public enum Coverage: Sendable, Hashable {
        /// All folders are watched, and were before.
        case complete
        /// All folders are watched, but some only from now on: changes may have been missed.
        case begun
        /// Some folders are not watched: the system has no such means, or its limit is reached.
        case incomplete
    }

    #if os(Linux)
    private let file: Int32
    // Set once; Dispatch does not declare that its methods may be called from any thread.
    nonisolated(unsafe) private let source: (any DispatchSourceRead)?
    /// The numbers that the system has given to the watched folders.
    private let known = Mutex<Set<Int32>>([])

    private static let events =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB)
        | UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
    #endif

    /// Begins a watch of no folders.
    ///
    /// - Parameter changed: called on any thread after changes, once for several of them. Changes
    ///   that are reported have taken place, but a file may change again.
    public init(_ changed: @escaping @Sendable () -> Void) {
        #if os(Linux)
        let file = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        self.file = file
        guard file >= 0 else {
            source = nil
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: file, queue: .global())
        source.setEventHandler {
            // Which file has changed does not matter; the list is read again.
            var events = [UInt8](repeating: 0, count: 16 << 10)
            while read(file, &events, events.count) > 0 {}
            changed()
        }
        source.setCancelHandler { close(file) }
        source.resume()
        self.source = source
        #endif
    }

    /// Calls a function at once, after changes in the folders that it watches, and once a minute,
    /// because the system does not tell of changes that other machines make in a network folder.
    /// Returns when the task is cancelled, or when the function returns nil.
    ///
    /// - Parameters:
    ///   - pause: the least time between the end of a look and the next look.
    ///   - look: looks at the photos, and adds their folders to the watch. Returns whether the next
    ///     look follows after the pause in any case.
    nonisolated(nonsending) public static func look(
        pause: Duration, _ look: nonisolated(nonsending) (FolderWatch) async -> Bool?
    ) async {
        let (looks, due) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let watch = FolderWatch { due.yield() }
        due.yield()
        var fullLook = Task<Void, any Error> {}
        defer { fullLook.cancel() }
        for await _ in looks {
            guard let isWaiting = await look(watch) else { return }
            do { try await Task.sleep(for: pause) } catch { return }
            if isWaiting { due.yield() }
            fullLook.cancel()
            fullLook = Task {
                try await Task.sleep(for: .seconds(60))
                due.yield()
            }
        }
    }

    deinit {
        #if os(Linux)
        source?.cancel()
        #endif
    }

    /// Watches the folders in which a list found its photos, or looked for them, in addition to
    /// those of earlier calls.
    ///
    /// Call it after each reading of the list: folders may be new, or others under the same names.
    ///
    /// - Complexity: O(n) in the number of photos and folders.
    public func watch(_ list: PhotoList) -> Coverage {
        #if os(Linux)
        var folders = Set(list.folders)
        for case let url? in list.records.map(\.url) where url.isFileURL {
            if let path = LocalPath(url) { folders.insert(path.folder ?? .workingFolder) }
        }
        guard source != nil else { return .incomplete }
        // The system knows a folder by its inode, and gives the same number again.
        let numbers = folders.map { folder in
            folder.withCString { inotify_add_watch(file, $0, Self.events) }
        }
        return known.withLock { known in
            let count = known.count
            known.formUnion(numbers.filter { $0 >= 0 })
            if numbers.contains(where: { $0 < 0 }) { return .incomplete }
            return known.count > count ? .begun : .complete
        }
        #else
        return .incomplete
        #endif
    }
}
