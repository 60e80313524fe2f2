import Operations
@_spi(ClassicPhotos) import PhotoPipeline

/// Shows the changes of a list of files while a gallery runs.
///
/// The list is read after changes in its folders, and once a minute, because the system does not
/// tell of changes that other machines make in a network folder. While files change, a look follows
/// half a second after the previous one.
struct ListFollower: Sendable {
    let catalog: PhotoCatalog
    let pages: GalleryPages
    let reading: @Sendable () -> PhotoList?
    /// Reading a long list takes too long for a thread that tasks share.
    private let queue = OperationQueue()

    private static let pause: Duration = .milliseconds(500)
    private static let longestPause: Duration = .seconds(60)

    init(
        catalog: PhotoCatalog, pages: GalleryPages, reading: @escaping @Sendable () -> PhotoList?
    ) {
        self.catalog = catalog
        self.pages = pages
        self.reading = reading
        queue.name = "List queue"
    }

    /// Follows the changes until the task is cancelled.
    func run() async {
        let (looks, due) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let watch = FolderWatch { due.yield() }
        // What has changed since the list was read for the start.
        due.yield()
        var nextLook = Task<Void, any Error> {}
        defer { nextLook.cancel() }
        for await _ in looks {
            let reading = queue.add("Look for changes") { look(watch) }
            let result = try? await withTaskCancellationHandler {
                try await reading.value
            } onCancel: {
                reading.cancel()
            }
            guard let (change, isWaiting) = result else { return }
            if let change { await pages.listChanged(change) }
            do { try await Task.sleep(for: Self.pause) } catch { return }
            if isWaiting { due.yield() }
            nextLook.cancel()
            nextLook = Task {
                try await Task.sleep(for: Self.longestPause)
                due.yield()
            }
        }
    }

    /// Reads the list; says what has changed, and whether another look should follow soon.
    private func look(_ watch: FolderWatch) -> (change: PhotoCatalog.Change?, isWaiting: Bool) {
        guard let list = reading() else { return (nil, false) }
        let coverage = watch.watch(list)
        let (change, isWaiting) = catalog.update(to: list.records)
        return (change, isWaiting || coverage == .begun)
    }
}
