/// What a person does with the browser.
extension Browser {
    /// Sets the size of the window in CSS pixels.
    func resize(width: Int, height: Int) async throws {
        try await command(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    /// Turns the window into a touch screen with the size in CSS pixels.
    func touchScreen(width: Int, height: Int) async throws {
        try await command(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": true])
        try await command(
            "Emulation.setTouchEmulationEnabled", ["enabled": true, "maxTouchPoints": 5])
    }

    /// Clicks the first element that matches, wherever it is.
    func clickFirst(_ selector: String) async throws {
        _ = try await evaluate("document.querySelector('\(selector)').click()")
    }

    /// Moves a finger along points, from its touch to its lift. Without points, lifts a finger that
    /// still touches.
    func touch(along points: [(x: Int, y: Int)], isLifted: Bool = true) async throws {
        for (index, point) in points.enumerated() {
            try await command(
                "Input.dispatchTouchEvent",
                [
                    "type": index == 0 ? "touchStart" : "touchMove",
                    "touchPoints": [["x": point.x, "y": point.y]],
                ])
        }
        guard isLifted else { return }
        try await command(
            "Input.dispatchTouchEvent", ["type": "touchEnd", "touchPoints": [Any]()])
    }

    /// Touches the middle of an element, which a finger reaches only if nothing covers it.
    func tap(_ selector: String) async throws {
        let middle = try await evaluate(
            """
            const box = document.querySelector('\(selector)').getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2].map(Math.round).join()
            """
        ).split(separator: ",").compactMap { Int($0) }
        try await touch(along: [(middle[0], middle[1])])
    }

    /// Presses and releases a key.
    func press(_ key: String) async throws {
        let codes = [
            "Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
            "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
        ]
        var event: [String: Any] = [
            "key": key, "code": key, "windowsVirtualKeyCode": codes[key] ?? 0,
        ]
        if key.count == 1 { event["text"] = key }
        if key == "Enter" { event["text"] = "\r" }
        event["type"] = event["text"] == nil ? "rawKeyDown" : "keyDown"
        try await command("Input.dispatchKeyEvent", event)
        event["type"] = "keyUp"
        event["text"] = nil
        try await command("Input.dispatchKeyEvent", event)
    }
}
