import HTTPTypes
import Hummingbird
import NIOCore
import PhotoLibrary
import PhotoPipeline

/// The routes for programs that watch the server: whether it answers, and its numbers.
struct StatusRoutes {
    let catalog: PhotoCatalog
    let pages: GalleryPages
    let viewer: PhotoViewer

    func add(to router: Router<GalleryRequestContext>) {
        router.get("health") { _, _ in text("ok\n", as: "text/plain; charset=utf-8") }
        router.get("metrics") { _, _ in
            // The version of Prometheus' text format is part of its media type.
            text(await metrics(), as: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private func text(_ text: String, as mediaType: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: mediaType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func metrics() async -> String {
        let status = await pages.status()
        let cache = viewer.cacheUse
        var text = MetricsText()
        text.add("photos", .gauge, "Photos in the list.", catalog.contents.rows.count)
        text.add("pages", .gauge, "Pages that are open or may return.", status.pages)
        text.add("streams", .gauge, "Event streams that are open.", status.streams)
        text.add("pictures_cache_hits_total", .counter, "Pictures found in memory.", cache.hits)
        text.add("pictures_cache_misses_total", .counter, "Pictures not in memory.", cache.misses)
        // The totals of a page end with it, so these are gauges.
        let numbers: [(String, String, (QueueGauge) -> Int)] = [
            ("waiting", "Operations that wait in the queues of all pages.", { $0.waiting }),
            ("running", "Operations that run in the queues of all pages.", { $0.running }),
        ]
        for (name, help, value) in numbers {
            text.begin("operations_\(name)", .gauge, help)
            for (queue, gauges) in status.gauges.sorted(by: { $0.key < $1.key }) {
                text.add(
                    "operations_\(name)", label: ("queue", queue),
                    gauges.reduce(0) { $0 + value($1) })
            }
        }
        return text.text
    }
}

/// Numbers in the text format of Prometheus.
struct MetricsText {
    enum Kind: String { case gauge, counter }

    private(set) var text = ""

    /// Adds the lines that describe a number.
    mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP classicphotos_\(name) \(help)\n"
        text += "# TYPE classicphotos_\(name) \(kind.rawValue)\n"
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        begin(name, kind, help)
        text += "classicphotos_\(name) \(value)\n"
    }

    mutating func add(_ name: String, label: (name: String, value: String), _ value: Int) {
        var quoted = ""
        for character in label.value {
            switch character {
            case "\\": quoted += "\\\\"
            case "\"": quoted += "\\\""
            case "\n": quoted += "\\n"
            default: quoted.append(character)
            }
        }
        text += "classicphotos_\(name){\(label.name)=\"\(quoted)\"} \(value)\n"
    }
}
