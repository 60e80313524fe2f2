import PhotoImaging

@testable import PhotoPipeline

let thumbnail = PixelSize(width: 32, height: 32)

/// The reason of a failed request; nil if it succeeded.
func failure(_ body: () async throws -> Void) async -> String? {
    do {
        try await body()
        return nil
    } catch PhotoStageStop.failed(let failure) {
        return failure.reason
    } catch {
        return "cancelled"
    }
}
