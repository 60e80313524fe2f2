import CAllocator
import Operations
import PhotoLibrary
import PhotoPipeline

/// Gives memory back to the system: after the index has read the photos, and when nobody looks at
/// the gallery any more.
///
/// The allocator keeps freed memory for later allocations until the program asks it to return it.
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

    /// Begins to return what is free, on a thread that may block for some milliseconds.
    func giveBackUnused() {
        queue.addOperation { return_freed_memory() }
    }

    /// Drops the pictures that were kept for the pages, and begins to return their memory. Most are
    /// on the disk, or can be made again.
    func giveBackPictures() {
        queue.addOperation { [loader, viewer] in
            loader.removeMemoryCache()
            viewer.removeMemoryCache()
            return_freed_memory()
        }
    }
}
