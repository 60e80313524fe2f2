import Operations

/// The operations in progress for one page's list: two queues, and the operations of each row.
///
/// Downloads and pixel work have separate queues, so that neither the network nor the processors
/// wait for the other.
struct PendingOperations: Sendable {
    /// The operations of one attempt at a row.
    struct Attempt: Sendable {
        let generation: Generation
        let operations: [Operation]
    }

    let downloadQueue: OperationQueue
    let filtrationQueue: OperationQueue
    private(set) var downloadsInProgress: [Row: Attempt] = [:]
    private(set) var filtrationsInProgress: [Row: Attempt] = [:]

    /// - Parameters:
    ///   - downloads: the maximum number of simultaneous downloads.
    ///   - filtrations: the maximum number of simultaneous pixel stages.
    init(downloads: Int, filtrations: Int) {
        downloadQueue = OperationQueue()
        downloadQueue.name = "Download queue"
        downloadQueue.maxConcurrentOperationCount = downloads
        filtrationQueue = OperationQueue()
        filtrationQueue.name = "Image Filtration queue"
        filtrationQueue.maxConcurrentOperationCount = filtrations
    }

    var isSuspended: Bool {
        get { downloadQueue.isSuspended }
        nonmutating set {
            downloadQueue.isSuspended = newValue
            filtrationQueue.isSuspended = newValue
        }
    }

    mutating func startDownload(_ row: Row, _ attempt: Attempt) {
        downloadsInProgress[row] = attempt
    }

    mutating func startFiltration(_ row: Row, _ attempt: Attempt) {
        filtrationsInProgress[row] = attempt
    }

    mutating func downloadEnded(_ row: Row, generation: Generation) {
        if downloadsInProgress[row]?.generation == generation { downloadsInProgress[row] = nil }
    }

    mutating func filtrationEnded(_ row: Row, generation: Generation) {
        if filtrationsInProgress[row]?.generation == generation { filtrationsInProgress[row] = nil }
    }

    /// Cancels and forgets the operations of a row.
    mutating func cancel(_ row: Row, generation: Generation) {
        let attempts = [downloadsInProgress[row], filtrationsInProgress[row]]
        for attempt in attempts.compactMap({ $0 }) where attempt.generation == generation {
            for operation in attempt.operations { operation.cancel() }
        }
        downloadEnded(row, generation: generation)
        filtrationEnded(row, generation: generation)
    }

    func cancelAll() {
        downloadQueue.cancelAllOperations()
        filtrationQueue.cancelAllOperations()
    }
}
