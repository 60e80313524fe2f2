import PhotoImaging
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reports the progress of a batch: a bar on a terminal, otherwise a line for each photo.
///
/// Results go to standard output. The reasons of failures go to standard error when they happen.
actor ProgressReport {
    enum Style {
        case bar, lines
        /// One line of JSON for each photo, also for failures.
        case json
    }

    private var total: Int
    private let remark: String?
    private let folder: String
    private let style: Style
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var lastDrawing: ContinuousClock.Instant?
    private var done = 0
    private var unchanged = 0
    private var failed = 0
    private var remarks: [PhotoRemark: Remarked] = [:]

    /// The photos with a remark: how many, and the first of their names.
    struct Remarked {
        static let limit = 3

        private(set) var count = 0
        private var names: [String] = []

        mutating func add(_ name: String) {
            count += 1
            if names.count < Self.limit { names.append(name) }
        }

        /// The remark as a sentence with the names.
        func line(_ remark: PhotoRemark) -> String {
            var shown = names.map(ProgressReport.line).joined(separator: ", ")
            if count > names.count { shown += " and \(count - names.count) more" }
            return "\(remark.sentence(for: count).dropLast()) (\(shown))."
        }
    }

    /// The names of the photos whose last result was a failure.
    private var failures: Set<String> = []

    init(total: Int, remark: String?, folder: String, style: Style) {
        self.total = total
        self.remark = remark
        self.folder = folder
        self.style = style
        self.start = clock.now
    }

    /// Records the result of one photo.
    func add(_ record: PhotoRecord, _ result: PhotoBatch.Result) {
        switch result {
        case .cancelled: return
        case .written(let file):
            done += 1
            for remark in file.remarks { remarks[remark, default: Remarked()].add(record.name) }
            if style == .lines {
                StandardOutput.writeLine("\(position) \(Self.line(file.path.description))")
            }
        case .unchanged: unchanged += 1
        case .failed(let failure):
            failed += 1
            failures.insert(record.name)
            if style != .json {
                erase()
                Terminal.writeError(
                    "\(Self.line(record.name)): \(Self.line(failure.reasonWithFlag))\n")
            }
        }
        if style == .json { StandardOutput.writeLine(JSONLine(record, result).jsonLine) }
        if style == .bar { draw() }
    }

    private var ended: Int { done + unchanged + failed }

    private var position: String { "[\(ended)/\(total)]" }

    /// Writes a line to standard error.
    func note(_ text: String) {
        erase()
        Terminal.writeError("\(Self.line(text))\n")
        if style == .bar { draw() }
    }

    /// Says that the photos that were there at the start are done.
    func beginWatching() {
        erase()
        let counts = "\(done) written, \(unchanged) up to date, \(failed) failed"
        if style != .json {
            StandardOutput.writeLine(
                "Watching for new and changed photos (\(counts)). Press Ctrl-C to stop.")
        }
    }

    /// Adds photos that appeared or changed during a watch. A photo that had failed is tried again,
    /// and counts only once: a file that is still being copied fails, and then is no failure.
    func expect(_ names: [String]) {
        for name in names {
            if failures.remove(name) == nil { total += 1 } else { failed -= 1 }
        }
    }

    enum Ending {
        case complete
        /// The batch stopped, because every remaining photo would fail like the last one.
        case stopped
        case interrupted
        /// A person ended the watch.
        case watched
        /// A person ended the program, and the other photos stay in a queue, as the sentence says.
        case detached(String)

        fileprivate var isWatch: Bool {
            if case .watched = self { true } else { false }
        }

        fileprivate var isComplete: Bool {
            switch self {
            case .complete, .watched: true
            case .stopped, .interrupted, .detached: false
            }
        }
    }

    /// Reports the end of the batch and returns the number of failures.
    func finish(_ ending: Ending) -> Int {
        erase()
        if style == .json {
            StandardOutput.writeLine(
                JSONLine(
                    written: done, unchanged: unchanged, failed: failed, total: total,
                    isComplete: ending.isComplete
                ).jsonLine)
            return failed
        }
        let lines = remarks.map { $0.value.line($0.key) }.sorted()
        for line in lines { StandardOutput.writeLine(line) }
        StandardOutput.writeLine(summary(ending))
        return failed
    }

    private func summary(_ ending: Ending) -> String {
        let seconds = elapsedSeconds
        let photos = total == 1 ? "photo" : "photos"
        var sentence = "Wrote \(done) of \(total) \(photos) to \(folder)"
        sentence += " in \(ProgressLine.time(seconds))"
        if seconds >= 1, done > 0, !ending.isWatch {
            sentence += " (\(ProgressLine.rate(Double(done) / seconds)))"
        }
        sentence += "."
        if unchanged > 0 {
            let verb = unchanged == 1 ? "was" : "were"
            sentence += " \(unchanged) \(verb) up to date; --again processes all photos."
        }
        if failed > 0 { sentence += " \(failed) failed; the reasons are above." }
        if let remark { sentence += " \(remark)" }
        switch ending {
        case .complete, .watched: break
        case .stopped:
            sentence += " Stopped, because all other photos would fail for the same reason."
        case .interrupted:
            sentence += " Interrupted. Run the same command to process the other photos."
        case .detached(let remark): sentence += " \(remark)"
        }
        return sentence
    }

    // MARK: The bar

    private func erase() {
        guard style == .bar, lastDrawing != nil else { return }
        Terminal.writeError(Terminal.eraseLine)
        lastDrawing = nil
    }

    private func draw() {
        let now = clock.now
        let isLast = ended == total
        if let lastDrawing, now - lastDrawing < .milliseconds(50), !isLast { return }
        lastDrawing = now
        let line = ProgressLine(
            total: total, done: done + unchanged, failed: failed, seconds: elapsedSeconds)
        Terminal.writeError("\r\(line.text(width: Terminal.width - 1))\u{1B}[K")
    }

    private var elapsedSeconds: Double {
        let (seconds, attoseconds) = (clock.now - start).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// An untrusted text on one line, without what would control the terminal.
    static func line(_ text: String) -> String { text.onOneLine }
}

/// A line of `--json`: the result of a photo, or the end of the batch.
struct JSONLine: Encodable {
    /// `written`, `unchanged`, `failed` or `end`.
    private let event: String
    private var name: String?
    private var source: String?
    /// The path of the result.
    private var result: String?
    private var width: Int?
    private var height: Int?
    private var bytes: Int?
    private var remarks: [String]?
    private var stage: String?
    private var reason: String?
    private var written: Int?
    private var unchanged: Int?
    private var failed: Int?
    private var total: Int?
    /// Whether every photo was done.
    private var isComplete: Bool?

    init(_ record: PhotoRecord, _ result: PhotoBatch.Result) {
        switch result {
        case .written(let file):
            event = "written"
            self.result = file.path.description
            width = file.size.width
            height = file.size.height
            bytes = file.byteCount
            if !file.remarks.isEmpty { remarks = file.remarks.map { $0.sentence(for: 1) } }
        case .unchanged(let path):
            event = "unchanged"
            self.result = path.description
        case .failed(let failure):
            event = "failed"
            stage = failure.stage.rawValue
            reason = failure.reasonWithFlag
        case .cancelled: event = "cancelled"
        }
        name = record.name
        source = record.url?.absoluteString
    }

    init(written: Int, unchanged: Int, failed: Int, total: Int, isComplete: Bool) {
        event = "end"
        self.written = written
        self.unchanged = unchanged
        self.failed = failed
        self.total = total
        self.isComplete = isComplete
    }
}
