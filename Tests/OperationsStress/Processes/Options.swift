import struct Foundation.Data
import class Foundation.FileManager
import class Foundation.ProcessInfo

/// The options of the program.
struct Options {
    static let usage = """
        usage: operations-stress [options]

        Runs random rounds of operations, which follow from a seed, and checks a model. A failure
        prints its seed, what was wrong, and the smallest plan found that fails in the same way.

        --seconds N      runs for so long (5 unless given)
        --seed N         the first seed; the following rounds have the following seeds (1)
        --new-seeds      begins with a random seed
        --repeat         runs the first seed again and again
        --plan FILE      runs the plan in a file again and again
        --without A,B    leaves out kinds of work and disturbances
        --only A,B       leaves out all other kinds
        --shrink N       looks for a smaller plan for so many seconds (30)
        --patience N     multiplies the time after which a round hangs (1)
        --show           prints the plan of the seed, and runs nothing
        --help           prints this, and runs nothing

        Kinds: \(Kind.allCases.map(\.rawValue).joined(separator: ", "))

        """

    var seconds = 5.0
    var seed: UInt64 = 1
    var repeats = false
    var plan: Plan?
    var without: Set<Kind> = []
    var shrinkSeconds = 30.0
    var patience = 1.0
    var shows = false
    var showsUsage = false
    /// The file for the seed of the round that runs, if this process is to run rounds itself.
    var record = ""

    var isWorker: Bool { !record.isEmpty }

    /// Reads the arguments, and the variables of the environment that all stress tests have.
    ///
    /// - Throws: what is wrong with them, as a sentence.
    init(_ arguments: [String], _ environment: [String: String]) throws(Mistake) {
        if environment["OPERATIONS_NEW_SEEDS"] == "1" { seed = .random(in: 1...(1 << 40)) }
        if let text = environment["OPERATIONS_STRESS_SEED"] {
            seed = try Self.number(text, of: "OPERATIONS_STRESS_SEED")
            repeats = true
        }
        if let text = environment["OPERATIONS_STRESS_SECONDS"] {
            seconds = try Self.number(text, of: "OPERATIONS_STRESS_SECONDS")
        }
        if let text = environment["OPERATIONS_STRESS_WITHOUT"] {
            without.formUnion(try Self.kinds(text))
        }
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--new-seeds": seed = .random(in: 1...(1 << 40))
            case "--repeat": repeats = true
            case "--show": shows = true
            case "--help": showsUsage = true
            default:
                guard let value = rest.popFirst() else { throw Mistake("\(option) needs a value") }
                try set(option, to: value)
            }
        }
    }

    private mutating func set(_ option: String, to value: String) throws(Mistake) {
        switch option {
        case "--seconds": seconds = try Self.number(value, of: option)
        case "--seed": seed = try Self.number(value, of: option)
        case "--shrink": shrinkSeconds = try Self.number(value, of: option)
        case "--without": without.formUnion(try Self.kinds(value))
        case "--only": without.formUnion(Set(Kind.allCases).subtracting(try Self.kinds(value)))
        case "--patience": patience = try Self.number(value, of: option)
        case "--record": record = value
        case "--plan":
            guard let data = FileManager.default.contents(atPath: value),
                let plan = Plan(text: String(decoding: data, as: UTF8.self))
            else { throw Mistake("the file \(value) has no plan") }
            self.plan = plan
        default: throw Mistake("\(option) is no option")
        }
    }

    private static func number<Number: LosslessStringConvertible>(
        _ text: String, of option: String
    ) throws(Mistake) -> Number {
        guard let number = Number(text) else {
            throw Mistake("\(option) is a number, not '\(text)'")
        }
        return number
    }

    private static func kinds(_ text: String) throws(Mistake) -> Set<Kind> {
        var kinds: Set<Kind> = []
        for name in text.split(separator: ",") {
            guard let kind = Kind(rawValue: String(name)) else {
                throw Mistake("'\(name)' is no kind")
            }
            kinds.insert(kind)
        }
        return kinds
    }

    /// A mistake in the arguments.
    struct Mistake: Error {
        let sentence: String

        init(_ sentence: String) { self.sentence = sentence }
    }
}

extension Options {
    /// The value of `--without`; nil if nothing is left out.
    static func list(_ kinds: Set<Kind>) -> String? {
        kinds.isEmpty ? nil : kinds.map(\.rawValue).sorted().joined(separator: ",")
    }
}
