@testable import PhotoLibrary
@_spi(ClassicPhotos) @testable import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Wraps a controller, so that tests can use it inside `#expect` and with plain row numbers.
final class ControllerHarness {
    private var controller: PhotoListController

    init(_ records: [PhotoRecord], visibleRowLimit: Int = 500) {
        controller = PhotoListController(records: records, visibleRowLimit: visibleRowLimit)
    }

    convenience init(photoCount: Int) {
        self.init(photos(photoCount))
    }

    var counts: PhotoStateCounts { controller.counts }
    var records: [PhotoRecord] { Array(controller.records) }
    var work: [Row: PhotoWork] { controller.work }
    var visibleRows: [Row] { controller.visibleRows }
    var isSuspended: Bool { controller.isSuspended }
    var isClosed: Bool { controller.isClosed }

    func state(_ row: Int) -> PhotoState { controller.records[row].state }
    func change(_ row: Int) -> PhotoRowChange? { controller.currentState(of: Row(row)) }
    func generation(_ row: Int) -> Generation? { controller.work[Row(row)]?.generation }
    func check() { controller._checkInvariants(countingRecords: true) }

    func dragBegan() -> [PhotoListAction] { controller.dragBegan() }
    func dragEnded(willDecelerate: Bool) -> [PhotoListAction] {
        controller.dragEnded(willDecelerate: willDecelerate)
    }
    func viewport(_ rows: Range<Int>) -> [PhotoListAction] {
        controller.viewportChanged(to: Row(rows.lowerBound)..<Row(rows.upperBound))
    }
    func viewport(_ rows: [Int]) -> [PhotoListAction] {
        controller.viewportChanged(to: rows.map { Row($0) })
    }
    func setNaive(_ isNaive: Bool) -> [PhotoListAction] {
        controller.naiveModeChanged(to: isNaive)
    }
    func retryAll() -> [PhotoListAction] { controller.retryOfAllRequested() }
    func downloaded(_ row: Int, _ generation: Generation) -> [PhotoListAction] {
        controller.rowDownloaded(Row(row), generation: generation)
    }
    func filtered(_ row: Int, _ generation: Generation) -> [PhotoListAction] {
        controller.rowFiltered(Row(row), generation: generation)
    }
    func failed(
        _ row: Int, _ generation: Generation, _ failure: PhotoFailure
    ) -> [PhotoListAction] {
        controller.rowFailed(Row(row), generation: generation, failure)
    }
    func cancelled(_ row: Int, _ generation: Generation) -> [PhotoListAction] {
        controller.rowCancelled(Row(row), generation: generation)
    }
    func retry(_ row: Int) -> [PhotoListAction] { controller.retryRequested(Row(row)) }
    /// - Parameter changed: the rows that have other photos than before, or none.
    func listChanged(
        _ records: [PhotoRecord], order: [Int], changed: Set<Int>
    ) -> [PhotoListAction] {
        let contents = PhotoCatalog.Contents(
            records: records, rows: order, emptyRows: Set(records.indices).subtracting(order),
            revision: 1)
        return controller.listChanged(to: contents, changed: changed)
    }
    func pageClosed() -> [PhotoListAction] { controller.pageClosed() }

    // MARK: Shortcuts to states

    /// Reports the download of the row's current attempt.
    @discardableResult
    func download(_ row: Int) -> [PhotoListAction] {
        guard let generation = generation(row) else { return [] }
        return downloaded(row, generation)
    }

    /// Reports the download and the filtration of the row's current attempt.
    @discardableResult
    func finish(_ row: Int) -> [PhotoListAction] {
        guard let generation = generation(row) else { return [] }
        return downloaded(row, generation) + filtered(row, generation)
    }
}

/// Records of new photos, named "photo 0" and so on.
func photos(_ count: Int, from first: Int = 0) -> [PhotoRecord] {
    (first..<(first + count)).map { number in
        PhotoRecord(
            id: PhotoID(rawValue: UInt64(number)), name: "photo \(number)",
            url: URL(filePath: "/photos/\(number).jpg", directoryHint: .notDirectory))
    }
}

let lostConnection = PhotoFailure(
    stage: .download, reason: "The connection was lost.", isRetryable: true)
let notFound = PhotoFailure(
    stage: .download, reason: "The server has no such photo.", isRetryable: false)

/// The actions in a short form, such as "download 3".
func summaries(_ actions: [PhotoListAction]) -> [String] {
    actions.map { action in
        switch action {
        case .suspendQueues: "suspend"
        case .resumeQueues: "resume"
        case .cancel(let row, _): "cancel \(row.index)"
        case .start(let row, _, .download, _): "download \(row.index)"
        case .start(let row, _, .filtration, _): "filter \(row.index)"
        case .show(let change): "show \(change.row.index) \(word(for: change.state))"
        }
    }
}

private func word(for state: PhotoState) -> String {
    switch state {
    case .new: "new"
    case .downloaded: "downloaded"
    case .filtered: "filtered"
    case .failed: "failed"
    }
}
