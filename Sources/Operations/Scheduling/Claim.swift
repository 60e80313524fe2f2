import OperationsRuntime
import Synchronization

/// Entries that a worker has claimed from a queue, blocks and operations on the fast path, and runs
/// one after the other. See QueuesAndClaims.md.
///
/// The owner takes the next entry by moving the cursor. That also ends the block that ran before.
/// Any thread that holds the queue's lock may reclaim the entries that were not taken, and may give
/// the running block an operation. The cursor is one atomic word, so each entry goes to exactly one
/// side, and each block ends either as a block or as an operation.
///
/// Unchecked: the owner reads an entry before it wins it. Other threads access the entries before
/// `next` only under the queue's lock, which the owner needs in order to release them. The entries
/// from `next` to `end` do not change until one side has won them.
final class Claim: @unchecked Sendable {
    typealias Reference = Unmanaged<Operation>

    static var capacity: Int { 56 }

    private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    /// The places of the entries. Guarded by the queue's lock. The owner, which appends operations
    /// without the lock, does not know their places: those are ``unknownPlace``.
    private let places = UnsafeMutablePointer<Int>.allocate(capacity: capacity)
    private let cursor = Atomic<UInt64>(0)
    /// The time at which the owner began to run the claim.
    let start = Atomic<UInt64>(0)
    /// Operations that became ready at the end of operations of the claim, in that order. The owner
    /// adds to them; a thread that holds the queue's lock takes all.
    private let successors = UnsafeMutablePointer<Unmanaged<Operation>>.allocate(capacity: capacity)
    private let successorCount = Atomic<Int>(0)
    let sourceWords = SourceWords()
    /// The lowest lane of the claimed entries; no lane if the claim keeps no operations that become
    /// ready, because they must be offered with their urgency.
    private(set) var lowestLane = 0
    /// The queue's `recallEpoch` at the time of the claim.
    private(set) var recallEpoch: UInt32 = 0
    /// Whether the entries come from the lane of cancelled ones, so that their bodies do not run.
    private(set) var isCancelled = false
    /// The slots of the queue's width that the claim holds: one for the entry that the owner runs,
    /// and one for each suspended body. Changed under the queue's lock.
    private let slots = Atomic<Int>(0)
    /// The async bodies that have begun and not ended, and where the owner is. Only the owner
    /// changes it.
    private let bodies = Atomic<UInt64>(0)
    /// Tells the uses of the claim, one after the other, apart. Only the owner uses it: the uses
    /// belong to different queues, so that no lock guards it.
    private var number: UInt64 = 0
    /// An entry that the owner has taken in a task, and runs outside of it. Only the owner uses it.
    var handedOver: Entry?
    /// The number of entries at the beginning that have left the queue already. Changed under the
    /// queue's lock while the claim is registered there.
    private let departedCount = Atomic<Int>(0)
    /// The urgency of all entries of the claim. The pool counts the worker as running something of
    /// this urgency.
    private(set) var urgency = Urgency.usual
    /// Whether the rest was reclaimed, or an operation was detached, in a way that makes the
    /// claim's time meaningless. Guarded by the queue's lock.
    var hasMisleadingTime = false
    /// Whether the owner had to go on while bodies were suspended. Only the owner uses it.
    var hasSuspended = false
    /// The time at which the last operation's body ended, if that was recorded and nothing slow
    /// came after it; otherwise 0. Only the owner uses it.
    var lastEnd: UInt64 = 0

    private static var unknownPlace: Int { -1 }
    /// The place of an entry that was taken out.
    private static var noPlace: Int { -2 }

    deinit {
        entries.deallocate()
        places.deallocate()
        successors.deallocate()
    }

    private struct Bodies {
        var word: UInt64

        @inline(__always)
        init(_ word: UInt64) { self.word = word }

        private static var open: UInt64 { 1 << UInt64(capacity) - 1 }
        private static var jobs: UInt64 { 0xFF << UInt64(capacity) }

        /// The entries whose async bodies have begun and not ended, one bit each. The bits of
        /// entries that were taken out mean nothing.
        var openEntries: UInt64 {
            @inline(__always) get { word & Self.open }
        }
        /// The number of ``openEntries``.
        var count: Int {
            @inline(__always) get { openEntries.nonzeroBitCount }
        }
        /// Whether the owner is at the entry that it took last.
        var isAtCursor: Bool {
            @inline(__always) get { word & Self.jobs == 0 }
        }
        /// Whether the owner is at jobs that wait for it, which may resume bodies.
        var isAtJobs: Bool {
            @inline(__always) get { word & Self.jobs == Self.jobs }
        }
        /// The entry at which the owner is, whose body was resumed by a job and has returned; -1 if
        /// there is none.
        var resumedEntry: Int { isAtCursor || isAtJobs ? -1 : Int(word >> UInt64(capacity)) - 1 }

        @inline(__always)
        func contains(_ index: Int) -> Bool { word >> UInt64(index) & 1 != 0 }

        @inline(__always)
        func opened(_ index: Int) -> Bodies { Bodies(word | 1 << UInt64(index)) }

        @inline(__always)
        func closed(_ index: Int) -> Bodies {
            let rest = word & ~(1 << UInt64(index))
            if isAtCursor { return Bodies(rest) }
            return Bodies(rest & Self.open | UInt64(index + 1) << UInt64(capacity))
        }

        var atCursor: Bodies {
            @inline(__always) get { Bodies(openEntries) }
        }
        var atJobs: Bodies {
            @inline(__always) get { Bodies(word | Self.jobs) }
        }
    }

    private var openBodies: Bodies {
        @inline(__always) get { Bodies(bodies.load(ordering: .acquiring)) }
        @inline(__always) set { bodies.store(newValue.word, ordering: .releasing) }
    }

    private struct Cursor {
        var word: UInt64

        /// The entry before the next one was appended by the end of the entry before it, which the
        /// owner may still be touching.
        static var appended: UInt64 { 1 << 31 }
        /// The running block was given an operation, which the owner must end. The sign of `limit`.
        static var materialized: UInt64 { 1 << 63 }

        @inline(__always)
        init(_ word: UInt64) { self.word = word }
        @inline(__always)
        init(next: Int, end: Int) { word = UInt64(next) | UInt64(end) << 32 }

        /// The number of entries that the owner has taken.
        var next: Int {
            @inline(__always) get { Int(word & 0xFFFF) }
        }
        /// The number of entries, without those that were reclaimed.
        var end: Int {
            @inline(__always) get { Int(word >> 32 & 0xFFFF) }
        }
        /// The end of what the owner may take now: below `next` while the cursor is `materialized`.
        var limit: Int {
            @inline(__always) get { Int(Int64(bitPattern: word) >> 32) }
        }
        var isMaterialized: Bool { word & Self.materialized != 0 }
        /// The number of taken entries that the owner may be touching.
        var inUse: Int { word & Self.appended != 0 ? 2 : 1 }
        /// The cursor after one more entry was taken.
        var advanced: Cursor {
            @inline(__always) get { Cursor(word & ~Self.appended + 1) }
        }
        /// The cursor without the entries that were not taken.
        var cut: Cursor {
            Cursor(word & (Self.materialized | Self.appended) | Cursor(next: next, end: next).word)
        }
    }

    @inline(__always)
    private var position: Cursor { Cursor(cursor.load(ordering: .acquiring)) }

    @inline(__always)
    private func replace(_ position: Cursor, by new: Cursor) -> Bool {
        cursor.compareExchange(
            expected: position.word, desired: new.word, ordering: .acquiringAndReleasing
        ).exchanged
    }

    // MARK: Entries of a source

    /// What the claim knows about the source of its entries. The source decides what the numbers
    /// of its entries mean.
    struct SourceWords: ~Copyable {
        /// In place of the number of an entry: there is none.
        static var none: UInt32 { .max }

        /// Changed under the queue's lock.
        fileprivate let source = Atomic<Unmanaged<EntrySource>?>(nil)
        /// The entry that the owner runs or has run last. Only the owner changes it.
        let running = Atomic<UInt32>(Self.none)
        /// The first of the entries that became ready at the end of entries of the claim. The owner
        /// adds to them; a thread that holds the queue's lock takes all.
        let kept = Atomic<UInt32>(Self.none)
        /// The number of entries that have ended. Only the owner changes it.
        private let ended = Atomic<Int>(0)

        var endedCount: Int { ended.load(ordering: .relaxed) }

        /// Counts entries as ended.
        @inline(__always)
        func countEnded(_ count: Int) { ended.store(endedCount &+ count, ordering: .relaxed) }

        fileprivate func set(_ new: EntrySource) {
            source.store(.passUnretained(new), ordering: .relaxed)
            running.store(Self.none, ordering: .relaxed)
            ended.store(0, ordering: .relaxed)
        }
    }

    /// The source of the entries; nil if they come from the ring.
    var source: Unmanaged<EntrySource>? {
        @inline(__always) get { sourceWords.source.load(ordering: .relaxed) }
    }

    // MARK: Claiming, under the queue's lock

    /// What a claim is filled with: up to ``capacity`` entries.
    struct Filling {
        fileprivate let entries: UnsafeMutablePointer<Entry>
        fileprivate let places: UnsafeMutablePointer<Int>
        private(set) var count = 0
        /// The lowest lane of the entries so far.
        var lowestLane: Int

        @inline(__always)
        mutating func append(_ entry: Entry, at place: Int) {
            entries[count] = entry
            places[count] = place
            count += 1
        }

        /// Appends an entry of a source, which has no place.
        @inline(__always)
        mutating func append(number: UInt32) { append(Entry(number: number), at: Claim.noPlace) }

        /// Appends neighbors, of which the first one is at `place`.
        @inline(__always)
        mutating func append(
            _ neighbors: UnsafeMutablePointer<Entry>, at place: Int, count added: Int
        ) {
            (entries + count).update(from: neighbors, count: added)
            for index in 0..<added { places[count &+ index] = place &+ index }
            count += added
        }

        /// Makes the claim pass on at once all operations that become ready.
        mutating func keepsNoSuccessors() { lowestLane = -1 }

        /// Puts the operations that `make` returns in place of the blocks.
        func replaceBlocks(_ make: (Entry, Int) -> Reference) {
            for index in 0..<count {
                guard entries[index].isBlock else { continue }
                entries[index] = .operation(make(entries[index], places[index]))
            }
        }
    }

    /// How many slots a claim takes.
    enum Slots { case none, one, each }

    /// Fills the claim with newly claimed entries.
    ///
    /// - Parameter lane: the highest lane of the entries.
    @inline(__always)
    func claimed(
        slots: Slots, recallEpoch: UInt32, urgency: Urgency = .usual, lane: Int = 0,
        fill: (inout Filling) -> Void
    ) {
        number &+= 1
        self.recallEpoch = recallEpoch
        self.urgency = urgency
        isCancelled = lane == OperationRing.cancelledLane
        sourceWords.source.store(nil, ordering: .relaxed)
        (hasMisleadingTime, hasSuspended) = (false, false)
        lastEnd = 0
        var filling = Filling(entries: entries, places: places, lowestLane: lane)
        fill(&filling)
        lowestLane = filling.lowestLane
        switch slots {
        case .none: self.slots.store(0, ordering: .relaxed)
        case .one: self.slots.store(1, ordering: .relaxed)
        case .each: self.slots.store(filling.count, ordering: .relaxed)
        }
        bodies.store(0, ordering: .relaxed)
        departedCount.store(0, ordering: .relaxed)
        cursor.store(Cursor(next: 0, end: filling.count).word, ordering: .releasing)
    }

    /// Fills the claim with entries of a source.
    func claimed(
        of source: EntrySource, recallEpoch: UInt32, urgency: Urgency, lane: Int,
        fill: (inout Filling) -> Void
    ) {
        claimed(slots: .one, recallEpoch: recallEpoch, urgency: urgency, lane: lane, fill: fill)
        sourceWords.set(source)
    }

    /// Calls `body` with each entry that the owner has taken, running or ended, that has not left
    /// the queue.
    @inline(__always)
    func forEachTaken(_ body: (Entry) -> Void) { forEach(takenBefore: position, body) }

    @inline(__always)
    private func forEach(takenBefore position: Cursor, _ body: (Entry) -> Void) {
        for index in departedCount.load(ordering: .relaxed)..<position.next
        where places[index] != Self.noPlace {
            body(entries[index])
        }
    }

    /// Calls `body` with the places of the entries that the owner has taken and that have not left:
    /// with the first place of neighbors, and their number.
    @inline(__always)
    func forEachTakenPlace(_ body: (Int, Int) -> Void) {
        var (first, count) = (0, 0)
        for index in departedCount.load(ordering: .relaxed)..<position.next {
            guard let place = place(at: index) else { continue }
            if place == first &+ count {
                count &+= 1
            } else {
                if count > 0 { body(first, count) }
                (first, count) = (place, 1)
            }
        }
        if count > 0 { body(first, count) }
    }

    /// The place of an entry; nil if the entry was taken out.
    @inline(__always)
    private func place(at index: Int) -> Int? {
        let place = places[index]
        if place >= 0 { return place }
        if place == Self.noPlace { return nil }
        return entries[index].operation?._withUnsafeGuaranteedRef { $0.place }
    }

    /// The number of taken entries that have ended and not left the queue, without dropped blocks.
    var endedCount: Int {
        // The owner may take the next entry meanwhile.
        let position = position
        var count = runningEntry(at: position)?.isBlock == true ? -1 : 0
        forEach(takenBefore: position) { entry in
            let isOver = entry.operation?._withUnsafeGuaranteedRef { $0.status.phase == .finished }
            if isOver ?? !isCancelled { count += 1 }
        }
        return count
    }

    /// The entry that the owner runs, or has run and not left behind yet; nil if there is none.
    var runningEntry: Entry? { runningEntry(at: position) }

    private func runningEntry(at position: Cursor) -> Entry? {
        guard position.next > departedCount.load(ordering: .relaxed), !isCancelled,
            places[position.next - 1] != Self.noPlace
        else { return nil }
        return entries[position.next - 1]
    }

    /// Whether the operation at the address was taken and has not left the queue.
    func hasTaken(_ address: UnsafeMutableRawPointer) -> Bool {
        var found = false
        forEachTaken { entry in if entry.isOperation(at: address) { found = true } }
        return found
    }

    /// Whether the operation at the address runs or has run in the claim.
    func isRunning(_ address: UnsafeMutableRawPointer) -> Bool {
        let (position, open) = (position, openBodies)
        if runningEntry(at: position)?.isOperation(at: address) == true { return true }
        return (0..<position.next).contains { index in
            isOpen(index, open) && entries[index].isOperation(at: address)
        }
    }

    /// The number of entries that the worker has begun, including those that were detached. Of a
    /// source, the number of those that have ended, including those that followed another one.
    var begunCount: Int { source == nil ? position.next : sourceWords.endedCount }

    /// Whether there are entries that were not taken. No other thread can reclaim them while the
    /// queue's lock is held.
    var hasRest: Bool {
        let position = position
        return position.next < position.end
    }

    /// Removes the taken entries that the owner no longer touches, and passes each to `body` with
    /// its place. They leave the queue now.
    func removeEnded(_ body: (Entry, Int) -> Void) {
        // In this order: of the entries before the position, all that have not ended are open.
        let position = position
        let open = openBodies
        let first = departedCount.load(ordering: .relaxed)
        guard first < position.next - position.inUse else { return }
        var departed = first
        for index in first..<position.next - position.inUse {
            if index != open.resumedEntry, !isOpen(index, open) {
                if let place = place(at: index) { body(entries[index], place) }
                places[index] = Self.noPlace
                if departed == index { departed += 1 }
            }
        }
        departedCount.store(departed, ordering: .relaxed)
    }

    @inline(__always)
    private func isOpen(_ index: Int, _ open: Bodies) -> Bool {
        open.contains(index) && places[index] != Self.noPlace
    }

    /// Reclaims the entries that were not taken and passes each to `body` with its place.
    func reclaimRest(_ body: (Entry, Int) -> Void) {
        while true {
            let position = self.position
            guard position.next < position.end else { return }
            // The entries are copied before they are won, because the owner may write there
            // afterwards.
            let rest = (position.next..<position.end).map { (entries[$0], places[$0]) }
            guard replace(position, by: position.cut) else { continue }
            for (entry, place) in rest { body(entry, place) }
            return
        }
    }

    /// Gives the running block an operation, which the owner ends in place of the block.
    ///
    /// - Parameter make: returns the operation for a block at a place, and takes over the reference
    ///   of the block's entry. Called only if the owner has not ended the block, which it cannot do
    ///   from then on.
    func materializeRunning(_ make: (Entry, Int) -> Reference) {
        while true {
            let position = self.position
            guard !position.isMaterialized, let running = runningEntry(at: position),
                running.isBlock
            else { return }
            guard replace(position, by: Cursor(position.word | Cursor.materialized)) else {
                continue
            }
            let index = position.next - 1
            entries[index] = .operation(make(running, places[index]))
            return
        }
    }

    /// Whether the running block was given an operation that the owner must end.
    var isMaterialized: Bool { position.isMaterialized }

    /// Returns the operation that the running block was given. Called by the owner, which ends the
    /// operation next.
    func takeMaterialized() -> Reference? {
        let old = cursor.bitwiseAnd(~Cursor.materialized, ordering: .acquiringAndReleasing).oldValue
        return Cursor(old).isMaterialized ? entries[Cursor(old).next - 1].operation : nil
    }

    /// Updates the places after the ring has moved its entries.
    func renumber(_ place: (Int) -> Int?) {
        for index in 0..<position.end {
            if let new = place(places[index]) { places[index] = new }
        }
    }

    /// Takes the successors that the owner has kept, and passes each to `body`.
    func takeSuccessors(_ body: (Reference) -> Void) {
        var count = successorCount.load(ordering: .acquiring)
        while count > 0 {
            let isTaken = withUnsafeTemporaryAllocation(of: Reference.self, capacity: count) {
                copy in
                // Copied before they are won, because the owner may write there afterwards.
                _ = copy.initialize(from: UnsafeBufferPointer(start: successors, count: count))
                let (exchanged, original) = successorCount.compareExchange(
                    expected: count, desired: 0, ordering: .acquiringAndReleasing)
                if exchanged { copy.forEach(body) }
                count = original
                return exchanged
            }
            if isTaken { return }
        }
    }

    /// Releases the entries that were taken and did not leave before. The claim is retired, and the
    /// entries are no longer accessed through it.
    @inline(__always)
    func release() {
        forEachTaken { $0.release() }
        departedCount.store(0, ordering: .relaxed)
        cursor.store(0, ordering: .releasing)
    }

    /// Takes out the operation that the owner took last and will not run or end as part of the
    /// claim. Entries that were not taken stay. Called by the owner, under the queue's lock.
    func takeOutLast() -> Reference { takeOut(position.next - 1) }

    private func takeOut(_ index: Int) -> Reference {
        guard let operation = entries[index].operation else {
            fatalError("unreachable: only operations are taken out")
        }
        places[index] = Self.noPlace
        return operation
    }

    /// Takes out an operation of the claim whose body was suspended, and has ended elsewhere.
    /// Called under the queue's lock.
    func takeOut(_ body: OpenBody) -> Reference { takeOut(body.index) }

    /// Takes out the operations whose bodies are suspended. Called by the owner, under the queue's
    /// lock.
    func takeOutOpen(_ body: (Reference) -> Void) {
        var open = openBodies.openEntries
        while open != 0 {
            let index = open.trailingZeroBitCount
            open &= open &- 1
            if places[index] != Self.noPlace { body(takeOut(index)) }
        }
        bodies.store(0, ordering: .relaxed)
    }

    // MARK: Slots, under the queue's lock

    /// The number of slots that the claim holds.
    var slotCount: Int { slots.load(ordering: .relaxed) }

    /// Gives the claim one more slot.
    func addSlot() { slots.store(slotCount + 1, ordering: .relaxed) }

    /// Takes a slot from the claim. Returns whether there was one.
    func handOverSlot() -> Bool {
        guard slotCount > 0 else { return false }
        slots.store(slotCount - 1, ordering: .relaxed)
        return true
    }

    /// Takes the slots from the claim that it does not need, because no entries are left to begin.
    /// Returns their number.
    func takeSpareSlots() -> Int {
        let spare = max(0, slotCount - neededSlots)
        slots.store(slotCount - spare, ordering: .relaxed)
        return spare
    }

    /// Whether the claim holds a slot beside those of the suspended bodies that are still in it, in
    /// which the owner can begin the next entry. Exact, unlike ``hasFreeSlot``.
    var hasSlotForRest: Bool { slotCount > openCount(openBodies) }

    /// One slot for each open entry, and one for the owner if it is at an entry that is not open.
    private var neededSlots: Int {
        let open = openBodies
        let last = position.next - 1
        let isAtOpenEntry = open.isAtCursor && last >= 0 && open.contains(last)
        return openCount(open) + (open.isAtJobs || isAtOpenEntry ? 0 : 1)
    }

    /// The number of open entries that were not taken out.
    private func openCount(_ open: Bodies) -> Int {
        var (entries, count) = (open.openEntries, 0)
        while entries != 0 {
            if places[entries.trailingZeroBitCount] != Self.noPlace { count += 1 }
            entries &= entries &- 1
        }
        return count
    }

    /// The owner's progress, which shows whether the owner moves. Nil if its speed does not matter:
    /// no entry waits behind the one that the owner runs or is about to run, and the claim keeps no
    /// ended entry and no successor.
    var progress: Int? {
        let position = position
        let areEndedRemoved =
            position.next - departedCount.load(ordering: .relaxed) <= position.inUse
        let isWaitedFor =
            max(position.next, 1) < position.end || successorCount.load(ordering: .acquiring) > 0
            || sourceWords.kept.load(ordering: .acquiring) != SourceWords.none
        return isWaitedFor || !areEndedRemoved ? position.next : nil
    }

    // MARK: The owner

    /// Takes the next entry. Returns nil if there is none, and if the block that has run was given
    /// an operation (``isMaterialized``).
    @inline(__always)
    func takeNext() -> Entry? {
        var word = cursor.load(ordering: .acquiring)
        while true {
            let position = Cursor(word)
            guard position.next < position.limit else { return nil }
            let entry = entries[position.next]
            let (exchanged, original) = cursor.compareExchange(
                expected: word, desired: position.advanced.word,
                ordering: .acquiringAndReleasing)
            if exchanged { return entry }
            word = original
        }
    }

    /// Keeps an operation that has become ready. Returns false if there is no space for it.
    @inline(__always)
    func keepSuccessor(_ operation: Reference) -> Bool {
        var count = successorCount.load(ordering: .acquiring)
        while count < Self.capacity {
            successors[count] = operation
            let (exchanged, original) = successorCount.compareExchange(
                expected: count, desired: count + 1, ordering: .acquiringAndReleasing)
            if exchanged { return true }
            count = original
        }
        return false
    }

    /// Whether one more operation fits into the claim and would be the next one.
    var canContinue: Bool {
        @inline(__always) get {
            let position = position
            return position.next == position.end && position.end < Self.capacity
                && successorCount.load(ordering: .relaxed) == 0
        }
    }

    /// Whether the claim has a slot for one more entry. Suspended bodies keep theirs.
    var hasFreeSlot: Bool {
        @inline(__always) get {
            // Another thread that takes an entry out takes a slot with it. So this number may be
            // too low, and not too high.
            slots.load(ordering: .relaxed) > openBodies.count
        }
    }

    /// Whether suspended bodies use all slots of the claim.
    var lacksSlot: Bool {
        @inline(__always) get {
            hasOpenEntries && !hasFreeSlot
        }
    }

    // MARK: Async bodies

    /// A body of an entry, from its beginning to its end.
    struct OpenBody {
        fileprivate let index: Int
        fileprivate let number: UInt64
    }

    /// Records that the body of the entry which the owner took last begins.
    @inline(__always)
    func open() -> OpenBody {
        let index = position.next - 1
        openBodies = openBodies.opened(index)
        return OpenBody(index: index, number: number)
    }

    /// Records that a body has ended. Returns false if its operation is no longer in the claim.
    /// Called by the owner.
    @inline(__always)
    func close(_ body: OpenBody) -> Bool {
        guard number == body.number, openBodies.contains(body.index) else { return false }
        openBodies = openBodies.closed(body.index)
        return true
    }

    /// Records that the owner has ended the last entry and goes on at the cursor.
    @inline(__always)
    func returnToCursor() { openBodies = openBodies.atCursor }

    /// Whether the owner is at the cursor, and not at jobs that wait for it.
    var isAtCursor: Bool {
        @inline(__always) get { openBodies.isAtCursor }
    }

    /// Records that the owner turns to jobs that wait for it.
    func turnToJobs() { openBodies = openBodies.atJobs }

    /// Whether there are suspended bodies.
    var hasOpenEntries: Bool {
        @inline(__always) get { openBodies.openEntries != 0 }
    }

    /// Under the queue's lock, forgets the open entries that were taken out.
    func forgetTakenOut() {
        let open = openBodies
        for index in 0..<Self.capacity where open.contains(index) && !isOpen(index, open) {
            openBodies = Bodies(openBodies.word & ~(1 << UInt64(index)))
        }
    }

    /// Appends the operation that follows the one that has just finished, as taken; see
    /// ``canContinue``. Returns true if from now on the claim keeps ended entries.
    @inline(__always)
    func continues(with operation: Reference) -> Bool {
        // There is no rest to reclaim and no block to name, so no other thread moves the cursor.
        let end = position.end
        entries[end] = .operation(operation)
        places[end] = Self.unknownPlace
        let new = Cursor(next: end + 1, end: end + 1)
        cursor.store(new.word | Cursor.appended, ordering: .releasing)
        return end == 2
    }
}
