extension Workload {
    /// Measured: making and adding operations with an `async` body that suspends once, and waiting.
    static let asynchronous = [
        Workload(name: "W9", title: "async bodies that yield once", sizes: [100_000]) {
            entrant, size in
            try entrant.perOperation(size, ["W9", "\(size)"]) { $0.asynchronous(size) }
        },
        // What code for networks does: a thread of another library resumes the bodies.
        Workload(name: "W9r", title: "async bodies that another thread resumes", sizes: [100_000]) {
            entrant, size in
            try entrant.perOperation(size, ["W9r", "\(size)"]) { $0.resumed(size) }
        },
    ]
}
