/// How a process with rounds has failed.
struct Failure {
    enum Manner: Equatable {
        case wrong(String)
        case hang
        case crash(Int32)
    }

    let manner: Manner
    let seed: UInt64
    /// The rounds before the one that failed.
    let rounds: Int
    let seconds: Double
    let output: String

    /// Reads the manner from what a process has left; nil if it has not failed.
    static func manner(status: Int32, isSignal: Bool, output: String) -> Manner? {
        if isSignal { return .crash(status) }
        switch status {
        case 0: return nil
        case Worker.hangs: return .hang
        case Worker.fails:
            let line = output.split(separator: "\n").first { $0.hasPrefix("WRONG: ") } ?? ""
            // Without its numbers, which differ from run to run.
            return .wrong(String(line.filter { !$0.isNumber }))
        default: return .crash(status)
        }
    }
}

extension Failure.Manner: CustomStringConvertible {
    var description: String {
        switch self {
        case .wrong: "broke a rule"
        case .hang: "did not go on"
        case .crash(let status): "crashed (\(status))"
        }
    }
}
