import OperationsRuntime

/// The operations that have their permits and slots and wait for a worker. The most urgent go
/// first; equally urgent ones go in the order in which they were granted.
struct AdmittedReferences<Object: AnyObject> {
    typealias Reference = Unmanaged<Object>

    /// The operations by urgency; made when first needed.
    private var lines: [TicketList<Reference>] = []
    /// Where each operation is.
    private var places: [UnsafeMutableRawPointer: (urgency: Urgency, ticket: Int)] = [:]

    var isEmpty: Bool { places.isEmpty }

    /// The urgency of the first operation; nil if there is none.
    var highestUrgency: Urgency? {
        isEmpty ? nil : Urgency.allCases.last { !lines[$0.rawValue].isEmpty }
    }

    mutating func append(_ operation: Reference, _ urgency: Urgency) {
        if lines.isEmpty { lines = Urgency.allCases.map { _ in TicketList() } }
        let ticket = lines[urgency.rawValue].append(operation)
        places[operation.toOpaque()] = (urgency, ticket)
    }

    /// Moves an operation behind those of its new urgency, if it is here and was less urgent.
    mutating func raise(_ operation: Reference, to urgency: Urgency) {
        guard let place = places[operation.toOpaque()], place.urgency < urgency else { return }
        lines[place.urgency.rawValue].remove(place.ticket)
        append(operation, urgency)
    }

    /// Removes and returns the first operation of an urgency, or of the highest one if `urgency` is
    /// nil.
    mutating func popFirst(_ urgency: Urgency?) -> Reference? {
        guard let urgency = urgency ?? highestUrgency, !isEmpty else { return nil }
        let first = lines[urgency.rawValue].popFirst()
        if let first { places[first.toOpaque()] = nil }
        return first
    }
}
