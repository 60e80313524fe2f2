@_spi(ClassicPhotos) import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// How a page learns of the progress of downloads.
extension PhotoListSession {
    /// Reports the download of a row's photo as ``Update/progress`` while a closure waits for it.
    ///
    /// The list reports its own downloads. A page that shows a single photo may wait for one of
    /// which the list wants nothing.
    public func reportingDownload<Value: Sendable>(
        of row: Row, while body: @Sendable () async throws -> Value
    ) async rethrows -> Value {
        guard controller.records.indices.contains(row.index),
            let url = controller.records[row.index].url
        else { return try await body() }
        let end = progressWatch(url, of: row)()
        defer {
            // The row ends the progress that the page has received.
            if end() {
                changedRows.insert(row)
                signalChange()
            }
        }
        return try await body()
    }

    /// Returns a function that begins to note the progress of a download, and returns a function
    /// that ends it. That one says whether the page was told of progress that nobody reports now.
    func progressWatch(_ url: URL, of row: Row) -> @Sendable () -> (@Sendable () -> Bool) {
        let signal: @Sendable () -> Void = { [weak self] in
            guard let self else { return }
            Task { await self.signalChange() }
        }
        return { [progress, downloader = loader.downloader] in
            progress.begin(row)
            let end = downloader.watch(url) { report in
                if progress.note(report, of: row) { signal() }
            }
            return {
                end()
                return progress.end(row)
            }
        }
    }
}
