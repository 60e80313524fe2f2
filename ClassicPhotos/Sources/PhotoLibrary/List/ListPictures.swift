public import PhotoImaging
@_spi(ClassicPhotos) public import PhotoPipeline

/// The small pictures of a list by their names, for the pages that show it.
///
/// A page knows the names of its pictures, see ``PhotoListSession/RowUpdate/picture``. The pictures
/// are in the memory of the loader. Other pictures may have displaced one before its page asks for
/// it; then it is made again, of the same pixels, so it has the same name.
///
/// Thread-safe.
public struct ListPictures: Sendable {
    private let catalog: PhotoCatalog
    private let options: PhotoListSession.Options
    private let loader: PhotoLoader

    /// - Parameters:
    ///   - catalog: the list.
    ///   - options: the size and the filters of the pictures, as the pages' sessions have them.
    ///   - loader: the loader of these sessions.
    public init(catalog: PhotoCatalog, options: PhotoListSession.Options, loader: PhotoLoader) {
        self.catalog = catalog
        self.options = options
        self.loader = loader
    }

    /// Returns a row's picture with a name if it is in memory, without waiting for anything.
    public func pictureInMemory(_ row: Row, named name: PictureName) -> EncodedImage? {
        guard let request = request(for: row),
            let version = loader.latestVersion(of: request.source)
        else { return nil }
        let pictures = loader.listPictures(of: request, version, options.processors)
        return pictures.first { $0.name == name }?.image
    }

    /// Returns a row's picture with a name, and makes it again if it is not in memory; nil if the
    /// row has no such picture, or no longer.
    ///
    /// - Throws: the failure of a photo of which no picture can be made again, or `cancelled` if
    ///   the calling task was cancelled.
    public func picture(
        _ row: Row, named name: PictureName
    ) async throws(PhotoStageStop) -> EncodedImage? {
        guard let request = request(for: row) else { return nil }
        if let picture = pictureInMemory(row, named: name) { return picture }
        let processors = options.processors
        let photo = try await loader.photo(for: request)
        let filtered = try await loader.processed(photo, by: processors)
        // The page shows the unfiltered picture only for a moment.
        for pixels in processors.isEmpty ? [photo] : [filtered, photo] {
            let picture = try await loader.listPicture(pixels)
            if picture.name == name { return picture.image }
        }
        return nil
    }

    private func request(for row: Row) -> PhotoRequest? {
        catalog.contents.record(at: row.index).flatMap { options.request(for: $0) }
    }
}

extension PhotoListSession.Options {
    /// What is loaded of a photo, before its filters; nil for a photo without an address.
    func request(for record: PhotoRecord) -> PhotoRequest? {
        record.url.map { PhotoRequest(url: $0, in: record.folder, fitting: size) }
    }

    /// The filters as a step of the loader.
    var processors: [PhotoProcessor] { filters.isEmpty ? [] : [.filters(filters)] }
}

extension PhotoLoader {
    static let listQuality = 82

    /// The picture of a list that shows a photo's pixels.
    func listPicture(_ photo: Photo) async throws(PhotoStageStop) -> NamedPicture {
        try await encoded(photo, as: .jpeg, quality: Self.listQuality, isKept: true)
    }

    /// The pictures of a list that are in memory: with the processors, and without.
    func listPictures(
        of request: PhotoRequest, _ version: PhotoVersion, _ processors: [PhotoProcessor]
    ) -> [NamedPicture] {
        let steps = processors.isEmpty ? [[]] : [processors, []]
        return steps.compactMap {
            fileInMemory(for: request.with($0), version, as: .jpeg, quality: Self.listQuality)
        }
    }
}

extension PhotoRequest {
    /// The request with other processors.
    func with(_ processors: [PhotoProcessor]) -> PhotoRequest {
        var request = self
        request.processors = processors
        return request
    }
}
