import OperationsFoundation

/// A bar on standard error: one line that moves on a terminal, a line for each step elsewhere.
struct ProgressBar {
    private let end = isatty(STDERR_FILENO) == 1 ? "\r" : "\n"
    private let width = 30
    private var lastStep = -1

    /// Draws the bar if it looks different from the last one.
    mutating func show(_ progress: Progress) {
        let step = Int(progress.fractionCompleted * 100)
        guard step != lastStep else { return }
        lastStep = step
        let filled = step * width / 100
        let bar = String(repeating: "#", count: filled)
        let rest = String(repeating: ".", count: width - filled)
        let counts = "\(progress.completedUnitCount) of \(progress.totalUnitCount) files"
        FileHandle.standardError.write(Data("[\(bar)\(rest)] \(step) % \(counts)\(end)".utf8))
    }

    /// Moves on to the next line, so that what comes after the bar does not overwrite it.
    func close() {
        if end == "\r" { FileHandle.standardError.write(Data("\n".utf8)) }
    }
}
