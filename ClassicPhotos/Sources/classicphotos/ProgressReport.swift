import PhotoPipeline

/// Reports the progress of a batch: a bar on a terminal, otherwise a line for each photo.
actor ProgressReport {
    private let total: Int
    private let remark: String?
    private let showsBar: Bool
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var lastDrawing: ContinuousClock.Instant?
    private var done = 0
    private var failures: [(name: String, failure: PhotoFailure)] = []

    init(total: Int, remark: String?, showsBar: Bool = Terminal.canRewriteLines) {
        self.total = total
        self.remark = remark
        self.showsBar = showsBar
        self.start = clock.now
    }

    /// Records the result of one photo.
    func add(_ record: PhotoRecord, _ result: PhotoBatch.Result) {
        switch result {
        case .cancelled: return
        case .written(let file):
            done += 1
            if !showsBar {
                StandardOutput.writeLine("\(position) \(Self.line(file.path.description))")
            }
        case .failed(let failure):
            failures.append((record.name, failure))
            if !showsBar {
                StandardOutput.writeLine(
                    "\(position) \(Self.line(record.name)): failed to \(failure.stage.verb)")
            }
        }
        if showsBar { draw() }
    }

    private var position: String { "[\(done + failures.count)/\(total)]" }

    enum Ending {
        case complete
        /// The batch stopped, because every remaining photo would fail like the last one.
        case stopped
        case interrupted
    }

    /// Reports the end of the batch and returns the number of failures.
    func finish(folder: String, _ ending: Ending) -> Int {
        if showsBar { Terminal.writeError("\r\u{1B}[K") }
        for (name, failure) in failures {
            Terminal.writeError("\(Self.line(name)): \(Self.line(failure.reason))\n")
        }
        let seconds = elapsedSeconds
        var sentence = "Wrote \(done) of \(total) photos to \(folder)"
        sentence += " in \(ProgressLine.time(seconds))"
        if seconds >= 1 { sentence += " (\(ProgressLine.rate(Double(done) / seconds)))" }
        sentence += "."
        if !failures.isEmpty { sentence += " \(failures.count) failed; the reasons are above." }
        if let remark { sentence += " \(remark)" }
        switch ending {
        case .complete: break
        case .stopped:
            sentence += " Stopped, because all other photos would fail for the same reason."
        case .interrupted:
            sentence += " Interrupted. Run the same command to process all photos again."
        }
        StandardOutput.writeLine(sentence)
        return failures.count
    }

    // MARK: The bar

    private func draw() {
        let now = clock.now
        let isLast = done + failures.count == total
        if let lastDrawing, now - lastDrawing < .milliseconds(50), !isLast { return }
        lastDrawing = now
        let line = ProgressLine(
            total: total, done: done, failed: failures.count, seconds: elapsedSeconds)
        Terminal.writeError("\r\(line.text(width: Terminal.width - 1))\u{1B}[K")
    }

    private var elapsedSeconds: Double {
        let (seconds, attoseconds) = (clock.now - start).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// An untrusted text on one line, without control characters for the terminal.
    static func line(_ text: String) -> String {
        String(
            text.unicodeScalars.map {
                $0.properties.generalCategory == .control ? "·" : Character($0)
            })
    }
}

extension PhotoFailure.Stage {
    fileprivate var verb: String {
        switch self {
        case .source, .download: "load"
        case .decode: "decode"
        case .filter: "filter"
        case .encode: "encode"
        case .write: "write"
        }
    }
}
