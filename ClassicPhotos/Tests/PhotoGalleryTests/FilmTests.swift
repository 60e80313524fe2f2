import DemoOrigin
import Foundation
import HTTPTestClient
import NIOCore
import OperationsTestSupport
import Testing

/// A fling with a finger, frame by frame. `make screenshots` stores the frames, for the README.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5)))
struct FilmTests {
    private static let steps = 16

    /// The rows of which at least two pixels are between the bars.
    private static let onScreen = """
        [...document.querySelectorAll('.row')].filter(row => {
            const edge = id => document.querySelector(id).getBoundingClientRect();
            const box = row.getBoundingClientRect();
            return box.bottom > edge('#header').bottom + 1 && box.top < edge('#strip').top - 1;
        })
        """

    private static let allDone = """
        !document.querySelector('.row[data-active=true]')
            && document.documentElement.dataset.phase === 'settled' && \(onScreen).length > 0
            && \(onScreen).every(row =>
                row.dataset.picture === 'filtered' || row.dataset.state === 'failed')
        """

    @Test func photosAppearWhenFingerLeavesList() async throws {
        try await withGallery(Screenshots.filmOrigin) { gallery in
            try await Screenshots.paintAll(of: gallery)
            try await Browser.run(width: 1000, height: 800) { browser in
                try await browser.command(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": 800, "height": 560, "deviceScaleFactor": 1, "mobile": false])
                try await browser.open(gallery.url)
                try await browser.wait(for: Self.allDone, "the first photos are done")
                var film = try Screenshots.Film(named: "fling")
                for _ in 0..<4 { try await film.takeFrame(of: browser) }

                // While a finger is down, the list is dragged, however long the steps take.
                _ = try await browser.evaluate("dispatchEvent(new TouchEvent('touchstart'))")
                var active = 0
                for step in 1...Self.steps {
                    let rest = 1 - Double(step) / Double(Self.steps)
                    _ = try await browser.evaluate(
                        "scrollTo(0, \(Int(2_600 * (1 - rest * rest * rest))))")
                    try await film.takeFrame(of: browser)
                    active +=
                        Int(
                            try await browser.evaluate(
                                """
                                return document.querySelectorAll('.row[data-active=true]').length
                                """)) ?? 1
                }
                #expect(active == 0)
                let placeholders = try await browser.evaluate(
                    "return \(Self.onScreen).filter(row => row.dataset.picture === 'none').length")
                #expect(try #require(Int(placeholders)) > 3)

                _ = try await browser.evaluate(
                    """
                    dispatchEvent(new TouchEvent('touchend'));
                    document.dispatchEvent(new Event('scrollend'));
                    """)
                try await film.takeFrames(of: browser, until: Self.allDone)
            }
        }
    }
}

extension Screenshots {
    /// The photos of the film are as large as its cells. They come so slowly that the frames show
    /// each stage: a screenshot takes a tenth of a second.
    static var filmOrigin: DemoOriginServer.Configuration {
        var configuration = DemoOriginServer.Configuration.quick
        if isStored {
            configuration.count = 120
            configuration.longestSide = 240
            configuration.latency = .milliseconds(300) ... .milliseconds(2_000)
        }
        return configuration
    }

    /// Lets the demo paint its photos, which no real server does on the first request.
    static func paintAll(of gallery: Gallery) async throws {
        guard isStored else { return }
        try await withThrowingTaskGroup { group in
            for entry in gallery.origin.catalog.entries where entry.kind == .good {
                group.addTask {
                    _ = try await TestClient.send(gallery.origin.url + entry.path)
                }
            }
            try await group.waitForAll()
        }
    }

    /// Screenshots with consecutive numbers, in a folder of their own.
    struct Film {
        private let folder: URL?
        private var count = 0

        init(named name: String) throws {
            folder = Screenshots.folder.map { URL(filePath: "\($0)/\(name)") }
            guard let folder else { return }
            try? FileManager.default.removeItem(at: folder)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        mutating func takeFrame(of browser: Browser) async throws {
            guard let folder else { return }
            let png = try await browser.screenshot()
            let digits = String(count + 1_000).dropFirst()
            try png.write(to: folder.appending(path: "\(digits).png"))
            count += 1
        }

        /// Takes frames until a condition is met, and some more that show the result.
        mutating func takeFrames(of browser: Browser, until condition: String) async throws {
            guard folder != nil else { return try await browser.wait(for: condition, "the end") }
            var rest = 14
            for _ in 0..<150 where rest > 0 {
                try await takeFrame(of: browser)
                let isOver = try await browser.evaluate("return String(!!(\(condition)))")
                if isOver == "true" { rest -= 1 }
            }
            #expect(rest == 0, "the page did not reach its last state")
        }
    }
}
