import DemoOrigin
import Foundation
import HTTPTestClient
import OperationsTestSupport
import Testing

/// A fling with a finger, frame by frame.
@Suite(.ownThreads, .oneBrowser, .serialized, .timeLimit(.minutes(15)))
struct FilmBrowserTests {
    @Test func photosAppearWhenFingerLeavesList() async throws {
        try await withGallery { gallery in
            try await Browser.run(width: 1000, height: 800) { browser in
                let fling = Fling(browser)
                try await fling.open(gallery.url, width: 800)
                var active = 0
                try await fling.drag(by: 2_600) { active += try await fling.activeRows }
                #expect(active == 0)
                let placeholders = try await browser.evaluate(
                    "return \(Fling.onScreen).filter(row => row.dataset.picture === 'none').length"
                )
                #expect(try #require(Int(placeholders)) > 3)
                try await fling.release()
                try await browser.wait(for: Fling.isDone, "all photos on the screen are done")
            }
        }
    }

    /// The same fling in naive mode and in the usual one. `make screenshots` stores the frames of
    /// both side by side, for the README.
    @Test(.enabled(if: Screenshots.folder != nil))
    func raceIsRecorded() async throws {
        var origin = DemoOriginServer.Configuration.quick
        origin.count = 120
        origin.longestSide = 240
        origin.latency = .milliseconds(300) ... .milliseconds(1_200)
        let folder = try Screenshots.emptyFolder(named: "race")
        let configuration = origin
        let (films, recorded) = AsyncStream<Recording>.makeStream()
        for isNaive in [true, false] {
            try await withGallery(configuration) { gallery in
                try await Screenshots.paintAll(of: gallery)
                try await Browser.run(width: 1000, height: 800) { browser in
                    let film = try await Recording(of: browser, gallery.url, isNaive: isNaive)
                    recorded.yield(film)
                }
            }
        }
        var next = films.makeAsyncIterator()
        let naive = try #require(await next.next())
        let usual = try #require(await next.next())
        try await Browser.run(width: 1000, height: 800) { browser in
            try await Race(naive: naive, usual: usual).store(in: folder, drawnBy: browser)
        }
        #expect(usual.seconds < naive.seconds)
    }
}

/// The steps of a fling on the page.
private struct Fling {
    private static let steps = 16

    let browser: Browser

    init(_ browser: Browser) { self.browser = browser }

    /// The rows of which at least two pixels are between the bars.
    static let onScreen = """
        [...document.querySelectorAll('.row')].filter(row => {
            const edge = id => document.querySelector(id).getBoundingClientRect();
            const box = row.getBoundingClientRect();
            return box.bottom > edge('#header').bottom + 1 && box.top < edge('#strip').top - 1;
        })
        """

    /// Whether all photos on the screen are complete. In naive mode others are still at work.
    static let isComplete = """
        document.documentElement.dataset.phase === 'settled' && \(onScreen).length > 0
            && \(onScreen).every(row =>
                row.dataset.picture === 'filtered' || row.dataset.state === 'failed')
        """

    static let isDone = "!document.querySelector('.row[data-active=true]') && \(isComplete)"

    var activeRows: Int {
        get async throws {
            let count = try await browser.evaluate(
                "return document.querySelectorAll('.row[data-active=true]').length")
            return try #require(Int(count))
        }
    }

    func open(_ url: String, width: Int) async throws {
        try await browser.command(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": 560, "deviceScaleFactor": 1, "mobile": false])
        try await browser.open(url)
        try await browser.wait(for: Self.isDone, "the first photos are done")
    }

    func switchToNaiveMode() async throws {
        for button in ["#engine-button", "#naive", "#engine-button"] {
            try await browser.wait(for: "document.querySelector('\(button)')", "\(button) exists")
            _ = try await browser.evaluate("document.querySelector('\(button)').click()")
        }
    }

    /// While a finger is down, the list is dragged, however long the steps take.
    func drag(by distance: Double, _ afterStep: () async throws -> Void) async throws {
        _ = try await browser.evaluate("dispatchEvent(new TouchEvent('touchstart'))")
        for step in 1...Self.steps {
            let rest = 1 - Double(step) / Double(Self.steps)
            let place = Int(distance * (1 - rest * rest * rest))
            _ = try await browser.evaluate("scrollTo(0, \(place))")
            try await afterStep()
        }
    }

    func release() async throws {
        _ = try await browser.evaluate(
            """
            dispatchEvent(new TouchEvent('touchend'));
            document.dispatchEvent(new Event('scrollend'));
            """)
    }
}

/// What a fling looked like.
private struct Recording {
    /// Screenshots as PNG, one for each step.
    var drag: [Data] = []
    /// Screenshots after the finger has left the list, and the seconds since then.
    var rest: [(seconds: Double, frame: Data)] = []
    /// The seconds until the screen was complete.
    var seconds = 0.0

    init() {}

    init(of browser: Browser, _ url: String, isNaive: Bool) async throws {
        let fling = Fling(browser)
        try await fling.open(url, width: 480)
        if isNaive { try await fling.switchToNaiveMode() }
        drag.append(try await browser.screenshot())
        try await fling.drag(by: 2_600) { drag.append(try await browser.screenshot()) }
        try await fling.release()
        let start = ContinuousClock.now
        var isComplete = false
        while !isComplete {
            isComplete =
                try await browser.evaluate("return String(!!(\(Fling.isComplete)))") == "true"
            seconds = (ContinuousClock.now - start) / .seconds(1)
            rest.append((seconds, try await browser.screenshot()))
        }
        // The last photos are still fading in.
        for _ in 0..<5 {
            let now = (ContinuousClock.now - start) / .seconds(1)
            rest.append((now, try await browser.screenshot()))
        }
    }

    /// The last screenshot before a moment.
    func frame(at moment: Double) -> Data {
        (rest.last { $0.seconds <= moment }?.frame ?? drag.last) ?? Data()
    }
}

/// Two recordings side by side, each with its clock.
private struct Race {
    let naive: Recording
    let usual: Recording

    /// So many frames have a second, and after the end of the first so many times as few.
    private static let rate = 10.0
    private static let timeLapse = 4.0

    func store(in folder: URL, drawnBy browser: Browser) async throws {
        try await browser.command(
            "Emulation.setDeviceMetricsOverride",
            ["width": 1_000, "height": 615, "deviceScaleFactor": 1, "mobile": false])
        try await browser.open("about:blank")
        _ = try await browser.evaluate(
            """
            document.body.innerHTML = `<style>
                body { margin: 0; background: white; color: #222;
                    font: 22px/1.3 system-ui, sans-serif; display: flex; justify-content: center }
                section { width: 480px; margin: 8px }
                img { width: 480px; display: block; border-radius: 8px }
                p { margin: 0 0 8px; display: flex; justify-content: space-between }
                b { font-variant-numeric: tabular-nums } .over { color: #0a7d32 }
                </style>` + ['One after the other', 'As operations'].map(title =>
                `<section><p>${title}<b></b></p><img></section>`).join('')
            """)
        var count = 0
        func store(_ left: Data, _ right: Data, after moment: Double) async throws {
            func clock(_ recording: Recording) -> String {
                let seconds = min(moment, recording.seconds)
                let isFast = moment > usual.seconds && moment < recording.seconds
                let speed = isFast ? " (4× speed)" : ""
                return "\((seconds * 10).rounded() / 10) s\(speed)"
            }
            let sides = [(naive, left), (usual, right)]
            for (index, (recording, frame)) in sides.enumerated() {
                _ = try await browser.evaluateAsync(
                    """
                    const side = document.querySelectorAll('section')[\(index)];
                    const clock = side.querySelector('b'), image = side.querySelector('img');
                    clock.textContent = '\(clock(recording))';
                    clock.className = \(moment >= recording.seconds) ? 'over' : '';
                    image.onload = () => done('');
                    image.src = 'data:image/png;base64,\(frame.base64EncodedString())';
                    """)
            }
            let digits = String(count + 10_000).dropFirst()
            try await browser.screenshot().write(to: folder.appending(path: "\(digits).png"))
            count += 1
        }
        for (left, right) in zip(naive.drag, usual.drag) {
            try await store(left, right, after: 0)
        }
        var moment = 0.0
        while moment < naive.seconds {
            try await store(naive.frame(at: moment), usual.frame(at: moment), after: moment)
            moment += (moment < usual.seconds ? 1 : Self.timeLapse) / Self.rate
        }
        // The result stays for some seconds.
        for step in 0..<25 {
            let end = naive.seconds + Double(step) / Self.rate
            try await store(naive.frame(at: end), usual.frame(at: end), after: end)
        }
    }
}

extension Screenshots {
    /// Lets the demo paint its photos, which no real server does on the first request.
    static func paintAll(of gallery: Gallery) async throws {
        try await withThrowingTaskGroup { group in
            for entry in gallery.origin.catalog.entries where entry.kind == .good {
                group.addTask {
                    _ = try await TestClient.send(gallery.origin.url + entry.path)
                }
            }
            try await group.waitForAll()
        }
    }

    static func emptyFolder(named name: String) throws -> URL {
        let folder = URL(filePath: "\(try #require(folder))/\(name)")
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
