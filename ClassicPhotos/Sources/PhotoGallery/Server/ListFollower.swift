import Operations
import PhotoLibrary

/// Shows the changes of a list of files while a gallery runs.
///
/// The list is read after changes in its folders, and once a minute. While files change, a look
/// follows half a second after the previous one.
struct ListFollower: Sendable {
    let catalog: PhotoCatalog
    let index: PhotoIndex
    let pages: GalleryPages
    let reading: @Sendable () -> PhotoList?
    /// Reading a long list takes too long for a thread that tasks share.
    private let queue = OperationQueue()

    private static let pause: Duration = .milliseconds(500)

    init(
        catalog: PhotoCatalog, index: PhotoIndex, pages: GalleryPages,
        reading: @escaping @Sendable () -> PhotoList?
    ) {
        self.catalog = catalog
        self.index = index
        self.pages = pages
        self.reading = reading
        queue.name = "List queue"
    }

    /// Follows the changes until the task is cancelled.
    func run() async {
        await FolderWatch.look(pause: Self.pause) { watch in
            let reading = queue.add("Look for changes") { look(watch) }
            let result = try? await withTaskCancellationHandler {
                try await reading.value
            } onCancel: {
                reading.cancel()
            }
            guard let (change, isWaiting) = result else { return nil }
            if let change { await pages.listChanged(change) }
            return isWaiting
        }
    }

    /// Reads the list; says what has changed, and whether another look should follow soon.
    private func look(_ watch: FolderWatch) -> (change: PhotoCatalog.Change?, isWaiting: Bool) {
        guard let list = reading() else { return (nil, false) }
        let coverage = watch.watch(list)
        let (change, isWaiting) = catalog.update(to: list.records)
        // Files with XMP may have changed, although no photo has.
        index.prepare(change?.contents ?? catalog.contents)
        return (change, isWaiting || coverage == .begun)
    }
}
