import struct Foundation.Data
import class Foundation.JSONDecoder
import class Foundation.JSONEncoder

extension Plan {
    /// The plan as text: its settings, and then a line for each step.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        func line(_ value: some Encodable) -> String {
            guard let data = try? encoder.encode(value) else { return "" }
            return String(decoding: data, as: UTF8.self)
        }
        var settings = self
        settings.threads = []
        let lines = threads.map { steps in
            (["thread"] + steps.map(line)).joined(separator: "\n")
        }
        return ([line(settings)] + lines).joined(separator: "\n") + "\n"
    }

    /// Reads a plan; nil if the text is not one.
    init?(text: String) {
        let decoder = JSONDecoder()
        let lines = text.split(separator: "\n")
        guard let first = lines.first,
            var plan = try? decoder.decode(Plan.self, from: Data(first.utf8))
        else { return nil }
        for line in lines.dropFirst() {
            if line == "thread" {
                plan.threads.append([])
                continue
            }
            guard !plan.threads.isEmpty,
                let step = try? decoder.decode(Step.self, from: Data(line.utf8)),
                plan.queues.indices.contains(step.queue)
            else { return nil }
            plan.threads[plan.threads.count - 1].append(step)
        }
        self = plan
    }
}
