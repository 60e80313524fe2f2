import HTTPTypes
import Hummingbird
import NIOCore

/// The routes of the page's own files, which are embedded into the program.
struct PageRoutes {
    static let files: [PageFile] = {
        let resources = PageResources.self
        return [
            .page("/", resources.index_html),
            .style("app.css", resources.app_css),
            .style("detail.css", resources.detail_css),
            .style("engine.css", resources.engine_css),
            .style("keys.css", resources.keys_css),
            .picture("favicon.svg", resources.favicon_svg),
            .picture("placeholder.svg", resources.placeholder_svg),
            .picture("failed.svg", resources.failed_svg),
            .script("address.js", resources.address_js),
            .script("api.js", resources.api_js),
            .script("app.js", resources.app_js),
            .script("cell.js", resources.cell_js),
            .script("chinese.js", resources.chinese_js),
            .script("detail.js", resources.detail_js),
            .script("dom.js", resources.dom_js),
            .script("engine.js", resources.engine_js),
            .script("events.js", resources.events_js),
            .script("find.js", resources.find_js),
            .script("geometry.js", resources.geometry_js),
            .script("keys.js", resources.keys_js),
            .script("list.js", resources.list_js),
            .script("looks.js", resources.looks_js),
            .script("names.js", resources.names_js),
            .script("notice.js", resources.notice_js),
            .script("panels.js", resources.panels_js),
            .script("picture.js", resources.picture_js),
            .script("records.js", resources.records_js),
            .script("scroll.js", resources.scroll_js),
            .script("stage.js", resources.stage_js),
            .script("strings.js", resources.strings_js),
            .script("viewport.js", resources.viewport_js),
        ]
    }()

    /// A file with the headers that belong to it.
    private struct Variant {
        let headers: HTTPFields
        let body: ByteBuffer

        init(_ file: PageFile, _ bytes: [UInt8], isCompressed: Bool) {
            let hash = String(Gzip.checksum(of: file.bytes), radix: 16)
            var headers: HTTPFields = [
                .contentType: file.mediaType, .cacheControl: "no-cache", .vary: "Accept-Encoding",
                .eTag: isCompressed ? "\"\(hash)-gzip\"" : "\"\(hash)\"",
            ]
            if isCompressed { headers[.contentEncoding] = "gzip" }
            self.headers = headers
            body = ByteBuffer(bytes: bytes)
        }

        func response(to request: Request) -> Response {
            if let known = request.headers[.ifNoneMatch], let tag = headers[.eTag],
                FileResponse.list(known, contains: tag)
            {
                var headers = headers
                headers[.contentType] = nil
                headers[.contentEncoding] = nil
                return Response(status: .notModified, headers: headers)
            }
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
        }
    }

    /// The files are compressed once, as small as possible.
    private static let variants: [(path: String, plain: Variant, compressed: Variant)] =
        files.map { file in
            let plain = Variant(file, file.bytes, isCompressed: false)
            let bytes = Gzip.compressed(file.bytes, level: 9)
            return (
                file.path, plain,
                bytes.map { Variant(file, $0, isCompressed: true) } ?? plain
            )
        }

    func add(to router: Router<GalleryRequestContext>) {
        for (path, plain, compressed) in Self.variants {
            router.get(RouterPath(path)) { request, _ in
                let isCompressed = Gzip.isAccepted(by: request.headers[.acceptEncoding])
                return (isCompressed ? compressed : plain).response(to: request)
            }
        }
    }
}
