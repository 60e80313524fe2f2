import Departures
import HTTPTypes
import Hummingbird
import NIOCore
import PhotoImaging
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The routes of single photos: details, pictures in several sizes, results, originals, and the
/// filters.
///
/// A request names a photo by its row. Work for a client that has left is cancelled.
///
/// | Route | Response |
/// |---|---|
/// | `thumbnails/:row/:picture` | a picture of the list by its name, which the events tell |
/// | `photos/:row/details?page=…` | the size and the fields of the camera |
/// | `photos/:row/picture?fit=…` | a JPEG to show, without metadata; `full` is the photo's size |
/// | `photos/:row/result?size=…` | the file that `process` would write, as a download |
/// | `photos/:row/original` | the photo as its source has it, as a download |
///
/// Of a damaged photo, pictures and results show what is left.
///
/// Both pictures and results take `filters`, a chain as in the command line or `none`. With the
/// photo's identifier as `id`, an address names its contents for ever.
struct PhotoRoutes {
    let catalog: PhotoCatalog
    let viewer: PhotoViewer
    let thumbnails: ListPictures
    let pages: GalleryPages

    /// The sides of the squares for which pictures are made. A few sizes are shared and cached;
    /// arbitrary sizes would not be.
    private static let sides = [640, 1_280, 2_560, 5_120]
    /// The sides that a person may choose for a file: too many to be shared, but a file is saved
    /// once.
    private static let resultSides = 16...65_535
    private static let full = "full"
    private static let filterCount = 8
    private static let filterLength = 500

    func add(to group: RouterGroup<GalleryRequestContext>) {
        group.get("filters", use: filters)
        group.get("thumbnails/:row/:picture", use: thumbnail)
        group.get("photos/:row/details", use: details)
        group.get("photos/:row/picture", use: picture)
        group.get("photos/:row/result", use: result)
        group.get("photos/:row/original", use: original)
    }

    // MARK: Filters

    private struct Filter: ResponseEncodable {
        struct Parameter: Encodable {
            let name: String
            let minimum: Double
            let maximum: Double
            let `default`: Double
            let unit: String
        }

        let name: String
        let summary: String
        let parameters: [Parameter]

        init(_ definition: FilterDefinition) {
            name = definition.name
            summary = definition.summary
            parameters = definition.parameters.map { parameter in
                Parameter(
                    name: parameter.name, minimum: parameter.range.lowerBound,
                    maximum: parameter.range.upperBound, default: parameter.defaultValue,
                    unit: parameter.unit)
            }
        }
    }

    @Sendable private func filters(_: Request, _: GalleryRequestContext) -> [Filter] {
        FilterDefinition.all.map(Filter.init)
    }

    // MARK: Details

    private struct Details: ResponseEncodable {
        let row: Int
        let id: String
        let name: String
        let source: String
        let format: String
        let bytes: Int
        let width: Int
        let height: Int
        let taken: String?
        let camera: String?
        let lens: String?
        let exposure: String?
        let aperture: Double?
        let iso: Int?
        let focalLength: Double?
        let latitude: Double?
        let longitude: Double?

        init(_ record: PhotoRecord, at row: Row, _ details: PhotoDetails) {
            self.row = row.index
            id = record.id.description
            name = record.name.onOneLine
            source = (record.url.map(PhotoRoutes.source) ?? "").onOneLine
            format = details.info.format.rawValue
            bytes = details.byteCount
            width = details.info.size.width
            height = details.info.size.height
            let fields = details.fields
            taken = fields.taken?.onOneLine
            camera = fields.camera?.onOneLine
            lens = fields.lens?.onOneLine
            exposure = fields.exposure?.onOneLine
            aperture = fields.aperture
            iso = fields.iso
            focalLength = fields.focalLength
            latitude = fields.latitude
            longitude = fields.longitude
        }
    }

    /// Waits for the download of the photo, whose progress a page that names itself receives with
    /// its events.
    @Sendable private func details(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Details {
        let (row, record) = try photo(context)
        let session = try? await pages.session(request.pageID())
        let details = try await answering(context) {
            guard let session else { return try await viewer.details(of: row) }
            return try await session.reportingDownload(of: row) {
                try await viewer.details(of: row)
            }
        }
        return Details(record, at: row, details)
    }

    /// The name of a local file, or the host of a download. The rest of an address can contain
    /// secrets: a home folder, or a token in a query.
    private static func source(of url: URL) -> String {
        url.isFileURL ? url.lastPathComponent : url.host(percentEncoded: false) ?? ""
    }

    // MARK: Pictures

    /// The address contains no page, so a page that is loaded again finds the picture in the
    /// browser's cache, and nothing is transferred.
    @Sendable private func thumbnail(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Response {
        let (row, _) = try photo(context)
        let missing = HTTPError(.notFound, message: "There is no such picture.")
        guard let name = context.parameters.get("picture").flatMap(PictureName.init) else {
            throw missing
        }
        var image = thumbnails.pictureInMemory(row, named: name)
        if image == nil {
            image = try await answering(context) { try await thumbnails.picture(row, named: name) }
        }
        guard let image else { throw missing }
        return FileResponse(
            bytes: image.bytes, mediaType: image.format.mediaType, tag: "\(name)",
            caching: .immutable
        ).response(to: request)
    }

    @Sendable private func picture(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Response {
        let (row, record) = try photo(context)
        let parameters = request.uri.queryParameters
        let fit = parameters.get("fit") ?? ""
        let side = Int(fit)
        guard fit == Self.full || side.map(Self.sides.contains) == true else {
            let sides = Self.sides.map(String.init).joined(separator: ", ")
            throw HTTPError(
                .badRequest, message: "The parameter fit must be \(sides) or \(Self.full).")
        }
        let filters = try filters(in: parameters.get("filters") ?? "none")
        let picture: PhotoFile
        // Without the hops to the connection's event loop, which take longer than the answer.
        if let made = viewer.pictureInMemory(of: row, fitting: side, filters: filters) {
            picture = made
        } else {
            picture = try await answering(context) {
                try await viewer.picture(of: row, fitting: side, filters: filters)
            }
        }
        return FileResponse(
            bytes: picture.bytes, mediaType: ImageFormat.jpeg.mediaType, tag: picture.tag,
            caching: caching(request, record)
        ).response(to: request)
    }

    @Sendable private func result(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Response {
        let (row, record) = try photo(context)
        let parameters = request.uri.queryParameters
        let size = parameters.get("size") ?? Self.full
        let side = Int(size)
        guard size == Self.full || side.map(Self.resultSides.contains) == true else {
            throw HTTPError(
                .badRequest,
                message: "The parameter size must be \(Self.full), or a number of pixels from "
                    + "\(Self.resultSides.lowerBound) to \(Self.resultSides.upperBound).")
        }
        let recipe = PhotoRecipe(
            filters: try filters(in: parameters.get("filters") ?? "none"),
            size: side.map { PixelSize(width: $0, height: $0) }, acceptsDamage: true)
        let result = try await answering(context) { try await viewer.result(of: row, by: recipe) }
        let format = result.format ?? .jpeg
        return FileResponse(
            bytes: result.bytes, mediaType: format.mediaType, tag: result.tag,
            caching: caching(request, record),
            downloadName: viewer.resultName(of: row, as: format)
        ).response(to: request)
    }

    private func filters(in text: String) throws -> [ImageFilter] {
        if text == "none" || text.isEmpty { return [] }
        guard text.utf8.count <= Self.filterLength else {
            throw HTTPError(
                .badRequest,
                message: "The text of the filters is longer than \(Self.filterLength) bytes.")
        }
        let filters: [ImageFilter]
        do throws(ImagingError) {
            filters = try ImageFilter.chain(text)
        } catch {
            throw HTTPError(.badRequest, message: error.description)
        }
        guard filters.count <= Self.filterCount else {
            throw HTTPError(
                .badRequest, message: "More than \(Self.filterCount) filters are not applied.")
        }
        return filters
    }

    @Sendable private func original(
        _ request: Request, _ context: GalleryRequestContext
    ) async throws -> Response {
        let (row, record) = try photo(context)
        let original = try await answering(context) { try await viewer.original(of: row) }
        // Others may be able to write in the folder, and a file of another program may have come
        // into it by mistake. A gallery sends pictures only.
        guard let format = original.format else {
            throw PhotoFailureResponse(
                failure: PhotoFailure(
                    stage: .decode, reason: ImagingError.unknownFormat(looksLike: nil).description,
                    isRetryable: true, cause: .init(.notAPicture)))
        }
        return FileResponse(
            bytes: original.bytes, mediaType: format.mediaType, tag: original.tag,
            caching: caching(request, record),
            downloadName: Self.fileName(of: record, format: format)
        ).response(to: request)
    }

    /// The file name of the original. A name without an extension gets that of the format.
    private static func fileName(of record: PhotoRecord, format: ImageFormat) -> String {
        let name = record.url?.lastPathComponent ?? ""
        if !name.isEmpty, name != "/", !(record.url?.pathExtension ?? "").isEmpty { return name }
        let base = name.isEmpty || name == "/" ? record.name : name
        return "\(base).\(format.fileExtension)"
    }

    // MARK: Parts

    /// The photo that a request names by its row.
    private func photo(
        _ context: GalleryRequestContext
    ) throws -> (row: Row, record: PhotoRecord) {
        guard let row = context.parameters.get("row", as: Int.self),
            let record = catalog.contents.record(at: row)
        else { throw HTTPError(.notFound, message: "The list has no such photo.") }
        return (Row(row), record)
    }

    /// An address that has the photo's identifier names one photo, even when another list is served
    /// under the same rows. Without the identifier, browsers must ask again.
    private func caching(_ request: Request, _ record: PhotoRecord) -> FileResponse.Caching {
        request.uri.queryParameters.get("id") == record.id.description ? .immutable : .revalidated
    }

    /// Waits for work as long as the client does, and turns failures into responses.
    private func answering<Value: Sendable>(
        _ context: GalleryRequestContext, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await context.whileConnected(work)
        } catch PhotoStageStop.failed(let failure) {
            throw PhotoFailureResponse(failure: failure)
        } catch PhotoStageStop.cancelled {
            throw HTTPError(.serviceUnavailable, message: "The request was cancelled.")
        }
    }
}
