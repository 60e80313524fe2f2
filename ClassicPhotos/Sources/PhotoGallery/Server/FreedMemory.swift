import CAllocator
import Operations
import PhotoPipeline

/// Gives memory back to the system when nobody looks at the gallery any more.
///
/// The pictures that were kept for the pages go; most are on the disk or can be read again. The
/// allocator keeps what is freed for later allocations, and is told to return it.
struct FreedMemory: Sendable {
    let loader: PhotoLoader
    let viewer: PhotoViewer
    private let queue: OperationQueue

    init(loader: PhotoLoader, viewer: PhotoViewer) {
        self.loader = loader
        self.viewer = viewer
        queue = OperationQueue()
        queue.name = "Freed memory"
        queue.maxConcurrentOperationCount = 1
    }

    /// Begins to give memory back, on a thread that may block for some milliseconds.
    func giveBack() {
        queue.addOperation { [loader, viewer] in
            loader.removeMemoryCache()
            viewer.removeMemoryCache()
            return_freed_memory()
        }
    }
}
