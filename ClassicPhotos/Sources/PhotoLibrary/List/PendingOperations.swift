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
    private var pausedQueues: Set<ObjectIdentifier> = []
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

    var queues: [OperationQueue] { [downloadQueue, filtrationQueue] }

    /// Whether the list is being scrolled, which suspends both queues.
    var isScrolling = false {
        didSet { for queue in queues { updateSuspension(of: queue) } }
    }

    /// Suspends or resumes a queue for a person, independently of scrolling.
    mutating func setPaused(_ queue: OperationQueue, to isPaused: Bool) {
        if isPaused {
            pausedQueues.insert(ObjectIdentifier(queue))
        } else {
            pausedQueues.remove(ObjectIdentifier(queue))
        }
        updateSuspension(of: queue)
    }

    private func updateSuspension(of queue: OperationQueue) {
        queue.isSuspended = isScrolling || pausedQueues.contains(ObjectIdentifier(queue))
    }

    /// Cancels all operations and resumes the queues, so that the operations can leave.
    mutating func close() {
        cancelAll()
        pausedQueues = []
        isScrolling = false
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
