/// The progress bar's line: completed photos, speed and remaining time.
struct ProgressLine {
    let total: Int
    let done: Int
    let failed: Int
    let seconds: Double

    func text(width: Int) -> String {
        let ended = done + failed
        var facts = " \(ended)/\(total)"
        if failed > 0 { facts += "  \(failed) failed" }
        if seconds > 0.5, ended > 0 {
            let perSecond = Double(ended) / seconds
            facts += "  \(Self.rate(perSecond))"
            if ended < total { facts += "  \(Self.time(Double(total - ended) / perSecond)) left" }
        }
        let barWidth = min(40, width - facts.count - 2)
        guard barWidth >= 8 else { return String(facts.dropFirst().prefix(max(0, width))) }
        return "▕\(bar(width: barWidth))▏\(facts)"
    }

    /// Drawn in eighths of a character, so that a short bar moves too.
    private func bar(width: Int) -> String {
        let eighths = total == 0 ? 0 : (done + failed) * width * 8 / total
        let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        let bar = String(repeating: "█", count: eighths / 8) + partial
        return bar + String(repeating: " ", count: width - bar.count)
    }

    static func rate(_ perSecond: Double) -> String {
        let tenths = Int((perSecond * 10).rounded())
        return tenths >= 100 ? "\(tenths / 10) photos/s" : "\(tenths / 10).\(tenths % 10) photos/s"
    }

    static func time(_ seconds: Double) -> String {
        let seconds = Int(seconds.rounded(.up))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
    }
}
