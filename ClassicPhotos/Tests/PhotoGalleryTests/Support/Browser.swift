import Foundation
import HTTPTestClient
import NIOHTTP1
import Testing

/// A real browser without a window, controlled through the WebDriver protocol.
///
/// Chromium and its driver come from the packages that `make test` installs.
///
/// Nothing here has a time limit: the suite has one. If it ends a test that waits for the browser,
/// the browser says what the page showed.
struct Browser {
    private let session: String

    struct Failure: Error, CustomStringConvertible {
        let description: String

        /// Whether a script ended because the browser left its page.
        var isNavigation: Bool {
            ["document unloaded", "aborted by navigation", "navigated or closed"].contains {
                description.contains($0)
            }
        }
    }

    /// Runs a closure with a window of the suite's browser. The window has no history.
    static func run(
        width: Int, height: Int, _ body: @escaping @Sendable (Browser) async throws -> Void
    ) async throws {
        guard let suite = SuiteBrowser.current else {
            throw Failure(
                description: "A test with a browser belongs to a suite with the trait .oneBrowser.")
        }
        try await suite.run(width, height, body)
    }

    /// Starts a browser.
    ///
    /// - Parameter moves: whether pages move. If not, the browser asks them not to, as the browsers
    ///   of people who want no motion do.
    init(driver: String, _ width: Int, _ height: Int, moves: Bool) async throws {
        let options: [String: Any] = [
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--disable-dev-shm-usage", "--window-size=\(width),\(height)",
            ] + (moves ? [] : ["--force-prefers-reduced-motion"])
        ]
        let capabilities: [String: Any] = [
            "alwaysMatch": [
                "browserName": "chrome", "goog:chromeOptions": options,
                "goog:loggingPrefs": ["browser": "ALL"],
                "timeouts": ["script": NSNull(), "pageLoad": 3_600_000],
            ]
        ]
        let answer = try await Self.call(
            "POST", "\(driver)/session", ["capabilities": capabilities])
        guard let value = answer as? [String: Any], let id = value["sessionId"] as? String else {
            throw Failure(
                description: "The driver started no session: \(String(describing: answer))")
        }
        session = "\(driver)/session/\(id)"
    }

    func quit() async throws {
        _ = try await Self.call("DELETE", session, nil)
    }

    /// Replaces the window by a new one, and removes what the pages have stored. Emulated devices,
    /// speeds and languages are gone with the window.
    func replaceWindow() async throws {
        let origin = try await evaluate("return location.origin")
        let answer = try await Self.call("POST", "\(session)/window/new", ["type": "window"])
        guard let window = (answer as? [String: Any])?["handle"] as? String else {
            throw Failure(description: "The driver opened no window: \(String(describing: answer))")
        }
        _ = try await Self.call("DELETE", "\(session)/window", nil)
        _ = try await Self.call("POST", "\(session)/window", ["handle": window])
        try await command("Page.bringToFront", [:])
        try await command("Network.clearBrowserCookies", [:])
        try await command("Network.clearBrowserCache", [:])
        if origin.hasPrefix("http") {
            try await command(
                "Storage.clearDataForOrigin", ["origin": origin, "storageTypes": "all"])
        }
        _ = try await consoleMessages()
    }

    /// Sets the size of the window with its frame.
    func setWindow(_ width: Int, _ height: Int) async throws {
        _ = try await Self.call(
            "POST", "\(session)/window/rect", ["x": 0, "y": 0, "width": width, "height": height])
    }

    /// Opens a URL.
    func open(_ url: String) async throws {
        try await reporting("the page \(url) to open") {
            _ = try await Self.call("POST", "\(session)/url", ["url": url])
        }
    }

    /// Runs a script in the page and returns its value as text.
    func evaluate(_ script: String) async throws -> String {
        let value = try await Self.call(
            "POST", "\(session)/execute/sync", ["script": script, "args": []])
        return value.map { "\($0)" } ?? ""
    }

    /// Runs a script in the page that calls `done` with its value as text.
    func evaluateAsync(_ script: String) async throws -> String {
        try await reporting("the end of a script: \(script)") {
            let value = try await Self.call(
                "POST", "\(session)/execute/async",
                ["script": "const done = arguments[0]; \(script)", "args": []])
            return value.map { "\($0)" } ?? ""
        }
    }

    /// Waits until a script in the page returns true; checks once per frame.
    ///
    /// The driver processes one command after the other. So each command waits for a second at
    /// most, and the state of the page can be asked for when the test's time is over.
    ///
    /// - Parameter description: the condition in words, for the report.
    func wait(for condition: String, _ description: String) async throws {
        let script = """
            const done = arguments[0], pause = Date.now() + 1000;
            const check = () => {
                let isTrue = false, problem = "";
                // The page may lack an element that it will have.
                try { isTrue = \(condition); } catch (error) { problem = String(error); }
                if (isTrue) done("yes");
                else if (Date.now() > pause) done(problem);
                else requestAnimationFrame(check);
            };
            check();
            """
        var problem = ""
        try await reporting(
            "\(description)\(problem.isEmpty ? "" : " (\(problem))"): \(condition)"
        ) {
            while true {
                do {
                    let value = try await Self.call(
                        "POST", "\(session)/execute/async", ["script": script, "args": []])
                    problem = value as? String ?? ""
                    if problem == "yes" { return }
                } catch let failure as Failure where failure.isNavigation {
                    // The page was left. The next one may satisfy the condition.
                }
            }
        }
    }

    /// Performs an action that waits for the browser. If the test's time ends before, reports what
    /// the page shows.
    private func reporting<Value>(
        _ expected: @autoclosure () -> String, _ action: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await action()
        } catch {
            guard Task.isCancelled else { throw error }
            // The test's own task is cancelled, and can send nothing.
            let state = await Task { await self.state() }.value
            Issue.record("The browser was waiting for \(expected())\n\(state)")
            throw error
        }
    }

    /// What a person and a developer see of the page, and where a screenshot is.
    private func state() async -> String {
        func text(_ body: () async throws -> String) async -> String {
            do { return try await body() } catch { return "unknown: \(error)" }
        }
        let page = await text {
            try await evaluate(
                """
                return ['Address: ' + location.href, 'Title: ' + document.title,
                    'State of the page: ' + JSON.stringify(document.documentElement.dataset),
                    'Cells: ' + JSON.stringify([...document.querySelectorAll('.row')].map(
                        ({ dataset }) => ({ ...dataset }))),
                    'Text: ' + document.body.innerText.slice(0, 2000)].join('\\n')
                """)
        }
        let messages = await text { try await consoleMessages().joined(separator: "\n") }
        let picture = await text {
            let file = FileManager.default.temporaryDirectory
                .appendingPathComponent("page-\(UUID().uuidString).png")
            try await screenshot().write(to: file)
            return file.path
        }
        return "\(page)\nConsole: \(messages)\nScreenshot: \(picture)"
    }

    /// A screenshot of the page, as PNG.
    func screenshot() async throws -> Data {
        let value = try await Self.call("GET", "\(session)/screenshot", nil)
        guard let text = value as? String, let data = Data(base64Encoded: text) else {
            throw Failure(description: "The driver returned no screenshot.")
        }
        return data
    }

    /// Sends a command of the browser's own protocol, for example to emulate a device.
    func command(_ name: String, _ parameters: [String: Any]) async throws {
        _ = try await Self.call(
            "POST", "\(session)/goog/cdp/execute", ["cmd": name, "params": parameters])
    }

    /// The messages in the page's console: errors, blocked scripts and pictures.
    func consoleMessages() async throws -> [String] {
        let value = try await Self.call("POST", "\(session)/se/log", ["type": "browser"])
        let entries = value as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }

    private static func call(
        _ method: String, _ url: String, _ body: [String: Any]?
    ) async throws -> Any? {
        let data = try body.map { Array(try JSONSerialization.data(withJSONObject: $0)) }
        let reply = try await TestClient.send(
            url, method: HTTPMethod(rawValue: method), body: data)
        let answer = try JSONSerialization.jsonObject(with: Data(reply.body))
        let value = (answer as? [String: Any])?["value"]
        if let problem = value as? [String: Any], let message = problem["message"] as? String,
            problem["error"] != nil
        {
            throw Failure(description: message)
        }
        return value
    }
}
