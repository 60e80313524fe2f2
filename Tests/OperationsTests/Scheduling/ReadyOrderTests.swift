import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// The rule of a queue's order as a value, and the ready operations that it orders.
struct ReadyOrderTests {
    @Test(arguments: OperationQueueOrder.allCases, [nil, 1, 40] as [Int64?])
    func ruleKeepsItsSettings(setting: OperationQueueOrder, span: Int64?) {
        var order = ReadyOrder(setting, agingSpan: span, cursor: 3)
        order.advance(to: 8)
        #expect(order.setting == setting && order.agingSpan == span)
        #expect(order.isDefault == (setting == .priority && span == nil))
        #expect(order.isStrict == (setting == .fifo))
        #expect(order.isAging == (setting != .fifo && span != nil))
        #expect(order.cursor == (setting == .fifo ? 8 : nil))
    }

    @Test func theCursorMovesBackToAnEarlierPlaceOnly() {
        var order = ReadyOrder(.fifo, agingSpan: nil, cursor: 5)
        order.moveBack(to: 7)
        #expect(order.cursor == 5)
        order.moveBack(to: 2)
        #expect(order.cursor == 2)
    }

    // MARK: Keys

    private static func key(
        _ order: ReadyOrder, place: Int = 1, lane: Int = 0, readySince time: Int64?
    ) -> SortKey {
        order.sortKey(SortKey(number: place), place: place, lane: lane, readySince: time)
    }

    /// An operation that is ready since `since` has risen by `steps` priorities at `now`.
    @Test(arguments: [
        (since: 0, now: 9, steps: 0), (since: 0, now: 10, steps: 1), (since: 9, now: 9, steps: 0),
        (since: 9, now: 10, steps: 1), (since: 9, now: 19, steps: 1), (since: 9, now: 20, steps: 2),
        (since: 10, now: 19, steps: 0), (since: 15, now: 44, steps: 3),
    ])
    func stepsLieAtTheMultiplesOfTheSpan(since: Int64, now: Int64, steps: Int) {
        let order = ReadyOrder(.priority, agingSpan: 10, cursor: 0)
        let (old, new) = (
            Self.key(order, readySince: since), Self.key(order, lane: steps, readySince: now)
        )
        #expect(old.step == new.step)
    }

    @Test func onlyAgingMakesStepsAndOnlyLifoReversesPlaces() {
        for setting in OperationQueueOrder.allCases {
            for span in [nil, 10] as [Int64?] {
                let order = ReadyOrder(setting, agingSpan: span, cursor: 0)
                let key = Self.key(order, place: 7, lane: 2, readySince: order.isAging ? 50 : nil)
                #expect(key.step == (order.isAging ? 3 : 0), "\(order)")
                #expect(key.number == (setting == .lifo ? -7 : 7), "\(order)")
            }
        }
    }

    /// With the longest span no operation ever rises, and no arithmetic overflows.
    @Test(arguments: [1, Int64.max])
    func theEndsOfTheTimeAxisAreOrdered(span: Int64) {
        let order = ReadyOrder(.priority, agingSpan: span, cursor: 0)
        let first = Self.key(order, lane: 4, readySince: 0)
        let last = Self.key(order, lane: 0, readySince: .max)
        #expect(first < last)
    }

    /// The keys never change, and their order is that of the levels at any later time.
    @Test(arguments: seeds(1, 2, 3))
    func keysAreInTheOrderOfTheLevelsAtAnyTime(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for round in 0..<2_000 {
            let isReversed = random.happens(1, in: 2)
            var model = AgingModel(span: Int64(1 + random.below(40)), isReversed: isReversed)
            for place in 0..<8 {
                var item = AgingModel.Item(
                    place: place, lane: random.below(5), since: Int64(random.below(200)))
                if random.happens(1, in: 3) { item.turn.deadline = Int64(random.below(3)) }
                model.items.append(item)
            }
            let expected = model.items.sorted { model.key(of: $0) < model.key(of: $1) }
            for _ in 0..<3 {
                model.now = 200 + Int64(random.below(1_000))
                let byLevel = model.items.sorted { model.goesBefore($0, $1) }
                #expect(
                    expected.map(\.place) == byLevel.map(\.place), "seed \(seed), round \(round)")
            }
        }
    }

    // MARK: Ready operations

    /// Behind barriers, with deadlines and changed priorities, and while the ring moves them.
    @Test(arguments: seeds(1, 2, 3, 4), [false, true])
    func theFirstOperationIsTheOneWithTheHighestLevel(seed: UInt64, isReversed: Bool) {
        var random = SplitMix64(seed: seed)
        var run = AgingRun(span: Int64(1 + random.below(40)), isReversed: isReversed)
        for event in 0..<3_000 {
            run.disturb(&random)
            let (first, expected) = (run.first(), run.model.best()?.place)
            #expect(first == expected, "seed \(seed), event \(event)")
        }
        #expect(run.renumberings > 0 && run.heldBack > 0)
        run.drain("seed \(seed)")
    }
}

/// What an aging queue starts next, by the levels of its operations at the current time.
private struct AgingModel {
    struct Item {
        var place: Int
        var lane: Int
        var since: Int64
        var turn: SortKey
        var isReady = true

        init(place: Int, lane: Int, since: Int64) {
            (self.place, self.lane, self.since) = (place, lane, since)
            turn = SortKey(number: place, ticket: .max)
        }
    }

    let span: Int64
    let isReversed: Bool
    var items: [Item] = []
    var barriers: [Int] = []
    var now: Int64 = 0

    init(span: Int64, isReversed: Bool) { (self.span, self.isReversed) = (span, isReversed) }

    var order: ReadyOrder {
        ReadyOrder(isReversed ? .lifo : .priority, agingSpan: span, cursor: 0)
    }

    func key(of item: Item) -> SortKey {
        order.sortKey(item.turn, place: item.place, lane: item.lane, readySince: item.since)
    }

    private func level(of item: Item) -> Int64 {
        Int64(item.lane) + now / span - item.since / span
    }

    func goesBefore(_ a: Item, _ b: Item) -> Bool {
        let (first, second) = (level(of: a), level(of: b))
        if first != second { return first > second }
        if a.turn.deadline != b.turn.deadline { return a.turn.deadline < b.turn.deadline }
        if isReversed { return a.place > b.place }
        return (a.turn.number, a.turn.ticket) < (b.turn.number, b.turn.ticket)
    }

    func best() -> Item? {
        let limit = barriers.first ?? .max
        return items.filter { $0.isReady && $0.place < limit }.min { goesBefore($0, $1) }
    }
}

/// The same random events for the model and for the heaps.
private struct AgingRun {
    var model: AgingModel
    private var heaps = RescheduledOperations()
    private var tail = 0
    private var lastTicket = 0
    private(set) var renumberings = 0
    /// How often the operation with the highest level was behind a barrier.
    private(set) var heldBack = 0

    init(span: Int64, isReversed: Bool) { model = AgingModel(span: span, isReversed: isReversed) }

    mutating func first() -> Int? { heaps.first(upTo: (model.barriers.first ?? .max) - 1)?.place }

    mutating func disturb(_ random: inout SplitMix64) {
        let index = model.items.isEmpty ? nil : random.below(model.items.count)
        switch random.below(16) {
        case 0..<4: add(lane: random.below(5), isReady: random.happens(3, in: 4))
        case 4..<8: claim()
        case 8: if let index { toggleReadiness(index) }
        case 9: if let index { setDeadline(Int64(random.below(4)), index) }
        case 10: if let index { changePriority(to: random.below(5), index) }
        case 11: if random.happens(1, in: 2) { addBarrier() }
        case 12: if !model.barriers.isEmpty { model.barriers.removeFirst() }
        case 13: if random.happens(1, in: 5) { renumber() }
        default: model.now += Int64(random.below(20))
        }
    }

    private mutating func add(lane: Int, isReady: Bool) {
        var item = AgingModel.Item(place: tail, lane: lane, since: model.now)
        item.isReady = isReady
        tail += 1
        model.items.append(item)
        if isReady { makeReady(item) }
    }

    private mutating func makeReady(_ item: AgingModel.Item) {
        heaps.setReady(item.place, lane: item.lane, since: item.since, in: model.order)
    }

    private mutating func addBarrier() {
        model.barriers.append(tail)
        tail += 1
    }

    mutating func claim() {
        let ready = model.items.filter(\.isReady)
        guard let best = model.best() else { return }
        if let first = ready.min(by: { model.goesBefore($0, $1) }), first.place != best.place {
            heldBack += 1
        }
        let wasReady = heaps.clearReady(best.place)
        #expect(wasReady)
        heaps.forget(best.place)
        model.items.removeAll { $0.place == best.place }
    }

    mutating func toggleReadiness(_ index: Int) {
        model.items[index].isReady.toggle()
        if model.items[index].isReady {
            model.items[index].since = model.now
            makeReady(model.items[index])
        } else {
            _ = heaps.clearReady(model.items[index].place)
        }
    }

    private mutating func setDeadline(_ deadline: Int64, _ index: Int) {
        let item = model.items[index]
        let (since, wasReady) = (heaps.readySince(item.place), heaps.clearReady(item.place))
        #expect(wasReady == item.isReady)
        heaps.setDeadline(deadline, at: item.place)
        if wasReady { heaps.setReady(item.place, lane: item.lane, since: since, in: model.order) }
        model.items[index].turn.deadline = deadline
    }

    private mutating func changePriority(to lane: Int, _ index: Int) {
        var item = model.items[index]
        _ = heaps.clearReady(item.place)
        heaps.startTurnAnew(at: item.place, number: tail)
        lastTicket += 1
        (item.lane, item.since) = (lane, model.now)
        (item.turn.number, item.turn.ticket) = (tail, lastTicket)
        model.items[index] = item
        if item.isReady { makeReady(item) }
    }

    /// Moves all operations and barriers together below the tail, as the ring does.
    private mutating func renumber() {
        let old = (model.items.map(\.place) + model.barriers).sorted()
        let places = old.enumerated().map { (old: $1, new: tail - old.count + $0) }
        func moved(_ place: Int) -> Int { places.first { $0.old >= place }?.new ?? tail }
        for index in model.items.indices {
            model.items[index].place = moved(model.items[index].place)
            model.items[index].turn.number = moved(model.items[index].turn.number)
        }
        model.barriers = model.barriers.map { moved($0) }
        heaps.renumber(Renumbering(places: places, tail: tail), in: model.order)
        renumberings += 1
    }

    mutating func drain(_ comment: Comment) {
        model.barriers = []
        for index in model.items.indices where !model.items[index].isReady {
            toggleReadiness(index)
        }
        while let best = model.best() {
            let first = first()
            #expect(first == best.place, comment)
            claim()
        }
        #expect(first() == nil && heaps.isEmpty && !heaps.hasDeadlines)
    }
}
