/// The operations that have their permits and slots and wait for a worker. The most urgent go
/// first; equally urgent ones go in the order in which they were granted.
struct AdmittedOperations {
    typealias Reference = Unmanaged<Operation>

    private struct Entry {
        let operation: Reference
        let ticket: Int
    }

    /// The entries by urgency; made when first needed. An operation that has become more urgent has
    /// several entries.
    private var lines: [FIFO<Entry>] = []
    /// The entry of each operation that counts, and the urgency of its line.
    private var places: [UnsafeMutableRawPointer: (ticket: Int, urgency: Urgency)] = [:]
    /// The number of entries that count, by urgency.
    private var counts = SIMD8<Int>()
    private var lastTicket = 0

    var isEmpty: Bool { places.isEmpty }

    /// The urgency of the first operation; nil if there is none.
    var highestUrgency: Urgency? {
        isEmpty ? nil : Urgency.allCases.last { counts[$0.rawValue] > 0 }
    }

    mutating func append(_ operation: Reference, _ urgency: Urgency) {
        if lines.isEmpty { lines = Urgency.allCases.map { _ in FIFO() } }
        lastTicket += 1
        places[operation.toOpaque()] = (lastTicket, urgency)
        counts[urgency.rawValue] += 1
        lines[urgency.rawValue].append(Entry(operation: operation, ticket: lastTicket))
    }

    /// Moves an operation behind those of its new urgency, if it is here and was less urgent.
    mutating func raise(_ operation: Reference, to urgency: Urgency) {
        guard let place = places[operation.toOpaque()], place.urgency < urgency else { return }
        counts[place.urgency.rawValue] -= 1
        append(operation, urgency)
    }

    mutating func popFirst(atLeast urgency: Urgency) -> Reference? {
        guard let highest = highestUrgency, highest >= urgency else { return nil }
        while let entry = lines[highest.rawValue].popFirst() {
            // The operation of an entry that does not count may be gone, so its memory is not
            // touched.
            let address = entry.operation.toOpaque()
            guard places[address]?.ticket == entry.ticket else { continue }
            places[address] = nil
            counts[highest.rawValue] -= 1
            return entry.operation
        }
        fatalError("unreachable: an entry that counts is in its line")
    }
}
