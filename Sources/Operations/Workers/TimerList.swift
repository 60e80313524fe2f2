/// What the pool has to call at certain moments, and when the foreman comes to look. Pure; the rules are in
/// Scheduling.md, "Time". Moments are in nanoseconds of `continuousNanoseconds()`.
struct TimerList<Element> {
    /// The foreman sleeps by a clock that stands while the machine sleeps. So what is due soon after that is not
    /// late by more than this.
    static var longestPause: UInt64 { 5_000_000_000 }
    /// How late the foreman is as a rule at most.
    private static var usualDelay: UInt64 { 50_000_000 }

    private var heap = TimerHeap<Element>()
    /// When the foreman comes by itself.
    private var nextVisit = UInt64.max

    var count: Int { heap.count }

    /// - Returns: what finds the element again, and whether the foreman has to be called.
    mutating func add(
        _ element: Element, at moment: UInt64, now: UInt64
    ) -> (ticket: TimerHeap<Element>.Ticket, callsMonitor: Bool) {
        let ticket = heap.insert(element, at: moment)
        // One who is far too late sleeps by another clock than this one.
        let isOverdue = nextVisit.addingSaturated(Self.usualDelay) < now
        guard moment < nextVisit || isOverdue else { return (ticket, false) }
        // Others need not call him as well.
        nextVisit = max(moment, now)
        return (ticket, true)
    }

    /// Takes an element off the list; nil if it is not there any more.
    mutating func remove(_ ticket: TimerHeap<Element>.Ticket) -> Element? { heap.remove(ticket) }

    /// Takes those off the list that are due, but not all in one hold of a lock if they are many.
    mutating func takeDue(at now: UInt64) -> [Element] {
        var due: [Element] = []
        while due.count < 64, let element = heap.removeFirst(dueAt: now) { due.append(element) }
        return due
    }

    /// The foreman has taken what is due, and asks when he has to come again; nil if there is nothing to come for.
    mutating func nextVisit(after now: UInt64) -> UInt64? {
        nextVisit = heap.first.map { min($0, now.addingSaturated(Self.longestPause)) } ?? .max
        return heap.first.map { _ in nextVisit }
    }
}
