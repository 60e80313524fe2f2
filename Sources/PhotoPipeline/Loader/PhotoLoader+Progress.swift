#if PhotoPipeline
public import PhotoImaging

/// A step of a photo on its way to a screen.
public enum PhotoProgress: Sendable {
    /// A part of the photo has arrived from the network.
    case downloading(DownloadProgress)
    /// The whole picture with less detail, without the processors of the request; only for
    /// progressive JPEG files, after some of their scans.
    case preview(Bitmap)
    /// The photo without the processors of the request; left out if there are none.
    case picture(Photo)
    /// The photo as requested; the last step.
    case finished(Photo)
}

extension PhotoLoader {
    /// Loads a photo and reports each step, for an interface that shows what there is.
    ///
    /// ```swift
    /// for try await step in pipeline.progress(of: request) {
    ///     switch step {
    ///     case .downloading(let progress): bar.show(progress.received, of: progress.total)
    ///     case .preview(let bitmap): view.show(bitmap)
    ///     case .picture(let photo), .finished(let photo): view.show(photo.bitmap)
    ///     }
    /// }
    /// ```
    ///
    /// The work is shared, as that of ``photo(for:)``, except for previews. It begins at once, and
    /// this caller's part in it ends with the loop. A slow reader misses reports of downloading and
    /// previews, but no later picture. The stream throws a ``PhotoStageStop``.
    public func progress(
        of request: PhotoRequest
    ) -> AsyncThrowingStream<PhotoProgress, any Error> {
        // At most two pictures follow the last report of downloading.
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(4)) { continuation in
            let previews = PreviewMaker(for: request, with: self) { bitmap in
                continuation.yield(.preview(bitmap))
            }
            let board = downloader.progress
            let number = board.watch(request.url) { progress, bytes in
                continuation.yield(.downloading(progress))
                previews.received(bytes)
            }
            let task = Task { [self] in
                do {
                    let photo = try await load(request, previews) {
                        continuation.yield(.picture($0))
                    }
                    continuation.yield(.finished(photo))
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
                board.end(number, of: request.url)
                await previews.stop()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func load(
        _ request: PhotoRequest, _ previews: PreviewMaker, showing show: @Sendable (Photo) -> Void
    ) async throws(PhotoStageStop) -> Photo {
        let original = try await original(for: request)
        // The rest of the picture has arrived, so less detail is of no use any more.
        await previews.stop()
        if let photo = photoInMemory(for: request, original.version) { return photo }
        let photo = try await photo(from: original, for: request)
        guard !request.processors.isEmpty else { return photo }
        show(photo)
        return try await processed(photo, by: request.processors, priority: request.priority)
    }
}
#endif
