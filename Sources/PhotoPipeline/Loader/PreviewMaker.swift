#if PhotoPipeline
import PhotoImaging
import Operations
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes what has arrived of a progressive JPEG file, for one caller, while the rest arrives.
///
/// Only one preview is decoded at a time. While that takes place, further scans only mark that
/// there is more; the next preview shows all of them. After ``stop()`` no preview is shown.
final class PreviewMaker: Sendable {
    private struct State {
        var scans = JPEGScans()
        /// The scans in the last preview.
        var shown = 0
        var task: Task<Void, Never>?
        var isOver = false
    }

    private let request: PhotoRequest
    private let loader: PhotoLoader
    private let show: @Sendable (Bitmap) -> Void
    private let state = Mutex(State())

    /// - Parameter show: called with each preview, never after ``stop()`` has returned.
    init(
        for request: PhotoRequest, with loader: PhotoLoader,
        show: @escaping @Sendable (Bitmap) -> Void
    ) {
        self.request = request
        self.loader = loader
        self.show = show
    }

    /// Looks at the bytes that have arrived so far.
    func received(_ bytes: [UInt8]) {
        state.withLock { state in
            guard !state.isOver else { return }
            // A download that begins again has other bytes.
            if bytes.count < state.scans.end { state.scans = JPEGScans() }
            state.scans.read(bytes)
            guard state.task == nil, state.scans.count > state.shown else { return }
            state.shown = state.scans.count
            let part = Array(bytes[..<state.scans.end])
            state.task = Task { await self.decode(part) }
        }
    }

    /// Ends the previews, because the whole photo is there or nobody waits for it. Waits for a
    /// preview that is being shown.
    func stop() async {
        let task = state.withLock { state in
            state.isOver = true
            return state.task
        }
        task?.cancel()
        await task?.value
    }

    private func decode(_ part: [UInt8]) async {
        let (size, capacity) = (request.size, loader.options.capacity)
        let limits = loader.options.limits.limits(for: request.url)
        guard let info = try? ImageEngine.inspect(part, limits: limits) else { return ended(nil) }
        let need = ImageEngine.memoryToDecode(info, fitting: size)
        let bitmap = try? await holding(
            capacity.memory(need), in: loader.requests, named: "Preview"
        ) { [loader, request] in
            let decode = loader.pixels.add(
                "Preview", .priority(request.priority), capacity.processor
            ) {
                try pixelWork(timeLimit: .seconds(20)) { cancellation throws(PhotoStageStop) in
                    try pixelStage(.decode) { () throws(ImagingError) in
                        try ImageEngine.decode(
                            part, fitting: size, limits: limits, acceptingDamage: true,
                            cancellation: cancellation)
                    }
                }
            }
            return try await decode.valueUnlessCancelled
        }
        // A preview that fails is left out.
        ended(bitmap)
    }

    private func ended(_ bitmap: Bitmap?) {
        // `stop()` waits for the task, so the preview is shown before the task is forgotten.
        if let bitmap, !state.withLock({ $0.isOver }) { show(bitmap) }
        state.withLock { $0.task = nil }
    }
}
#endif
