import Hummingbird

/// The routes of the page's own files, which are embedded into the program.
struct PageRoutes {
    static var files: [PageFile] {
        let resources = PackageResources.self
        return [
            .page("/", resources.index_html),
            .style("app.css", resources.app_css),
            .style("detail.css", resources.detail_css),
            .style("engine.css", resources.engine_css),
            .picture("favicon.svg", resources.favicon_svg),
            .picture("placeholder.svg", resources.placeholder_svg),
            .picture("failed.svg", resources.failed_svg),
            .script("address.js", resources.address_js),
            .script("api.js", resources.api_js),
            .script("app.js", resources.app_js),
            .script("cell.js", resources.cell_js),
            .script("detail.js", resources.detail_js),
            .script("dom.js", resources.dom_js),
            .script("engine.js", resources.engine_js),
            .script("events.js", resources.events_js),
            .script("find.js", resources.find_js),
            .script("geometry.js", resources.geometry_js),
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
    }

    func add(to router: Router<GalleryRequestContext>) {
        for file in Self.files {
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
