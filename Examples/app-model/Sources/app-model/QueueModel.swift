import Observation
import Operations

/// A long list of pictures, of which a few are visible, and the queue that loads them.
///
/// The properties change on the main actor only, so a view reads them without any care.
@MainActor @Observable
final class QueueModel {
    enum Row: Equatable {
        case loading
        case loaded(Picture)
        case failed(String)
    }

    /// The rows that are loaded, or will be.
    private(set) var rows: [Int: Row] = [:]
    private(set) var visible = 0..<0
    /// Whether the queue has anything to do.
    private(set) var isLoading = false
    /// How many loads were cancelled, because their rows scrolled away.
    private(set) var cancelledCount = 0

    private let rowCount: Int
    private let load: @Sendable (Int) async throws -> Picture
    @ObservationIgnored private let queue = OperationQueue(name: "pictures", width: 2)
    @ObservationIgnored private var loads: [Int: Operation] = [:]

    init(rowCount: Int, load: @escaping @Sendable (Int) async throws -> Picture) {
        (self.rowCount, self.load) = (rowCount, load)
    }

    /// Shows some rows. They are loaded first, then the rows near them; loads of other rows are
    /// cancelled. To be called whenever the list has scrolled.
    func scroll(to visible: Range<Int>) {
        self.visible = visible
        let near = (visible.lowerBound - 2..<visible.upperBound + 2).clamped(to: 0..<rowCount)
        for (row, load) in loads where !near.contains(row) {
            load.cancel(because: "row \(row) scrolled away")
            loads[row] = nil
            rows[row] = nil
            cancelledCount += 1
        }
        for row in near {
            if rows[row] == nil { beginLoading(row) }
            // Also for a load that waits in the queue already, because its row was near before.
            loads[row]?.queuePriority = visible.contains(row) ? .high : .low
        }
    }

    private func beginLoading(_ row: Int) {
        rows[row] = .loading
        let picture = queue.add("row \(row)", .priority(.low), .retry(2)) { [load] in
            try await load(row)
        }
        loads[row] = picture
        // What is loaded is shown before anything else is loaded.
        queue.add(.priority(.veryHigh), after: picture) { @MainActor [weak self] picture in
            self?.end(.loaded(picture), of: row)
        }
        queue.add(.priority(.veryHigh), onFailureOf: picture) { @MainActor [weak self] error in
            self?.end(.failed("\(error)"), of: row)
        }
    }

    private func end(_ state: Row, of row: Int) {
        // The row may have scrolled away after the end of its load.
        guard loads.removeValue(forKey: row) != nil else { return }
        rows[row] = state
    }

    /// Follows the queue until the task is cancelled: for `.task { await model.follow() }`.
    func follow() async {
        for await count in queue.counts where isLoading != (count > 0) { isLoading = count > 0 }
    }

    /// Returns when nothing is left to load.
    func finished() async { await queue.finished() }
}
