/// The timers of the pool, and the time at which the monitor thread next visits them. Pure; see
/// Timers.md for the rules. Times are nanoseconds of `continuousNanoseconds()`.
struct TimerList<Element> {
    /// The longest pause of the monitor thread while there is a timer. The monitor thread sleeps by
    /// a clock that stops while the machine sleeps; this limit bounds how late a timer can be after
    /// the machine has slept.
    static var longestPause: UInt64 { 5_000_000_000 }
    /// The delay that the monitor thread does not normally exceed.
    private static var usualDelay: UInt64 { 50_000_000 }

    private var heap = Heap<UInt64, Element>()
    /// The time at which the monitor thread comes without being woken.
    private var nextVisit = UInt64.max

    /// - Returns: A ticket that identifies the element, and whether the caller has to wake the
    ///   monitor thread.
    mutating func add(
        _ element: Element, at moment: UInt64, now: UInt64
    ) -> (ticket: Heap<UInt64, Element>.Ticket, callsMonitor: Bool) {
        let ticket = heap.insert(element, at: moment)
        // A monitor thread that is far too late sleeps by a clock that has stopped meanwhile.
        let isOverdue = nextVisit.addingSaturated(Self.usualDelay) < now
        guard moment < nextVisit || isOverdue else { return (ticket, false) }
        // Other callers need not wake the monitor thread as well.
        nextVisit = max(moment, now)
        return (ticket, true)
    }

    /// Removes an element from the list; returns nil if the list no longer contains it.
    mutating func remove(_ ticket: Heap<UInt64, Element>.Ticket) -> Element? { heap.remove(ticket) }

    /// Removes elements that are due, at most 64 at a time, so that a large number is not removed
    /// in one hold of a lock.
    mutating func takeDue(at now: UInt64) -> [Element] {
        var due: [Element] = []
        while due.count < 64, let element = heap.removeFirst(upTo: now) { due.append(element) }
        return due
    }

    /// Returns when the monitor thread, which has taken all elements that are due, has to come
    /// again; nil if the list is empty.
    mutating func nextVisit(after now: UInt64) -> UInt64? {
        nextVisit = heap.firstKey.map { min($0, now.addingSaturated(Self.longestPause)) } ?? .max
        return heap.firstKey.map { _ in nextVisit }
    }
}
