import Hummingbird

/// The routes of the page's own files, which are embedded into the program.
struct PageRoutes {
    private struct File {
        let path: String
        let mediaType: String
        let bytes: [UInt8]
    }

    private static let script = "text/javascript; charset=utf-8"
    private static let picture = "image/svg+xml"

    private var files: [File] {
        let resources = PackageResources.self
        return [
            File(path: "/", mediaType: "text/html; charset=utf-8", bytes: resources.index_html),
            File(path: "app.css", mediaType: "text/css; charset=utf-8", bytes: resources.app_css),
            File(path: "favicon.svg", mediaType: Self.picture, bytes: resources.favicon_svg),
            File(
                path: "placeholder.svg", mediaType: Self.picture, bytes: resources.placeholder_svg),
            File(path: "failed.svg", mediaType: Self.picture, bytes: resources.failed_svg),
            File(path: "address.js", mediaType: Self.script, bytes: resources.address_js),
            File(path: "api.js", mediaType: Self.script, bytes: resources.api_js),
            File(path: "app.js", mediaType: Self.script, bytes: resources.app_js),
            File(path: "cell.js", mediaType: Self.script, bytes: resources.cell_js),
            File(
                path: "detail.css", mediaType: "text/css; charset=utf-8",
                bytes: resources.detail_css),
            File(path: "detail.js", mediaType: Self.script, bytes: resources.detail_js),
            File(path: "dom.js", mediaType: Self.script, bytes: resources.dom_js),
            File(path: "events.js", mediaType: Self.script, bytes: resources.events_js),
            File(path: "find.js", mediaType: Self.script, bytes: resources.find_js),
            File(path: "geometry.js", mediaType: Self.script, bytes: resources.geometry_js),
            File(path: "list.js", mediaType: Self.script, bytes: resources.list_js),
            File(path: "looks.js", mediaType: Self.script, bytes: resources.looks_js),
            File(path: "names.js", mediaType: Self.script, bytes: resources.names_js),
            File(path: "notice.js", mediaType: Self.script, bytes: resources.notice_js),
            File(path: "panels.js", mediaType: Self.script, bytes: resources.panels_js),
            File(path: "picture.js", mediaType: Self.script, bytes: resources.picture_js),
            File(path: "records.js", mediaType: Self.script, bytes: resources.records_js),
            File(path: "scroll.js", mediaType: Self.script, bytes: resources.scroll_js),
            File(path: "stage.js", mediaType: Self.script, bytes: resources.stage_js),
            File(path: "strings.js", mediaType: Self.script, bytes: resources.strings_js),
            File(path: "viewport.js", mediaType: Self.script, bytes: resources.viewport_js),
        ]
    }

    func add(to router: Router<GalleryRequestContext>) {
        for file in files {
            let body = ByteBuffer(bytes: file.bytes)
            router.get(RouterPath(file.path)) { _, _ in
                Response(
                    status: .ok,
                    headers: [.contentType: file.mediaType, .cacheControl: "no-cache"],
                    body: ResponseBody(byteBuffer: body))
            }
        }
    }
}
