import Foundation
import HTTPTestClient
import NIOHTTP1

/// A real browser without a window, controlled through the WebDriver protocol.
///
/// Chromium and its driver come from the packages that `make test` installs.
struct Browser {
    private let session: String

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a closure with a window that has no history: in the browser of the suite, if there is
    /// one, and otherwise in a new browser.
    static func run(
        width: Int, height: Int, _ body: @escaping @Sendable (Browser) async throws -> Void
    ) async throws {
        if let suite = SuiteBrowser.current {
            return try await suite.run(width, height, body)
        }
        try await SuiteBrowser.with(moves: true) { try await $0.run(width, height, body) }
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
                // Longer than the deadline of `wait`, so that its error names the condition.
                "timeouts": ["script": 60_000],
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
        _ = try await Self.call("POST", "\(session)/url", ["url": url])
    }

    /// Runs a script in the page and returns its value as text.
    func evaluate(_ script: String) async throws -> String {
        let value = try await Self.call(
            "POST", "\(session)/execute/sync", ["script": script, "args": []])
        return value.map { "\($0)" } ?? ""
    }

    /// Runs a script in the page that calls `done` with its value as text.
    func evaluateAsync(_ script: String) async throws -> String {
        let value = try await Self.call(
            "POST", "\(session)/execute/async",
            ["script": "const done = arguments[0]; \(script)", "args": []])
        return value.map { "\($0)" } ?? ""
    }

    /// Waits until a script in the page returns true; checks once per frame.
    ///
    /// - Parameter description: the condition in words, for the error.
    func wait(for condition: String, _ description: String) async throws {
        let script = """
            const done = arguments[0], deadline = Date.now() + 45000;
            const check = () => {
                if (\(condition)) done("yes");
                else if (Date.now() > deadline) done("no");
                else requestAnimationFrame(check);
            };
            check();
            """
        let value = try await Self.call(
            "POST", "\(session)/execute/async", ["script": script, "args": []])
        guard value as? String == "yes" else {
            throw Failure(description: "The page did not reach this state: \(description)")
        }
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
