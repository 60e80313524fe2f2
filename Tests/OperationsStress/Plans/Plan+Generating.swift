import OperationsRuntime

extension Plan {
    /// Makes the plan of a seed, in which some kinds do not occur.
    init(seed: UInt64, without: Set<Kind>) {
        var random = SplitMix64(seed: seed &* 0x9E37_79B9_7F4A_7C15)
        // The numbers are drawn for all kinds, so that leaving out one changes little else.
        let drawn = Kind.allCases.filter { random.below(100) < $0.share }
        let kinds = drawn.filter { !without.contains($0) }
        self.seed = seed
        queues = (0..<(random.happens(3, in: 5) ? 1 : 2 + random.below(3))).map { _ in
            Queue(kinds, &random)
        }
        threads = []
        counts = random.happens(1, in: 2)
        effort = random.happens(1, in: 3) ? 1 + random.below(3) : 0
        suspends = kinds.contains(.bodies)
        isHeld = random.happens(1, in: 30) && kinds.contains(.suspension)
        endsQuietly = random.happens(1, in: 30)
        let adding = kinds.filter(\.addsWork)
        let disturbing = kinds.filter { !$0.addsWork && !$0.isSetting }
            .filter { !isHeld || !$0.blocks && $0 != .suspension }
        let shared = Draft(queues: queues.count, kinds: kinds)
        let size = [4, 12, 40, 100][random.below(4)]
        var draft = shared
        for _ in 0..<(1 + random.below(3)) {
            let steps = adding.isEmpty ? 0 : 1 + random.below(size)
            var thread = (0..<steps).map { _ in
                let disturbs = !disturbing.isEmpty && random.happens(1, in: 8)
                let choices = disturbs ? disturbing : adding
                // The usual work is more frequent than the rest.
                let kind =
                    !disturbs && adding.contains(.blocks) && random.happens(1, in: 2)
                    ? Kind.blocks : choices[random.below(choices.count)]
                return draft.step(kind, &random)
            }
            if !isHeld, kinds.contains(.threadWaits) || kinds.contains(.taskWaits) {
                let kind = kinds.contains(.threadWaits) ? Kind.threadWaits : .taskWaits
                for queue in queues.indices where random.happens(2, in: 3) {
                    var wait = draft.step(kind, &random)
                    wait = wait.with(queue: queue)
                    thread.append(wait)
                }
            }
            threads.append(thread)
        }
        if !disturbing.isEmpty, random.happens(1, in: 3) {
            threads.append(
                (0..<(1 + random.below(size))).map { _ in
                    draft.step(disturbing[random.below(disturbing.count)], &random)
                })
        }
    }
}

/// Draws steps, and numbers them.
private struct Draft {
    let queues: Int
    let kinds: [Kind]
    private var next = 0

    init(queues: Int, kinds: [Kind]) { (self.queues, self.kinds) = (queues, kinds) }

    mutating func step(_ kind: Kind, _ random: inout SplitMix64) -> Step {
        let id = next
        next += 1
        let isOften = random.happens(7, in: 10)
        var step = Step(
            id: id, kind: kind, queue: random.below(queues),
            count: isOften ? 1 : 1 + random.below(40), hops: random.below(4),
            style: random.below(8),
            priority: kinds.contains(.priorities) && random.happens(1, in: 3)
                ? random.below(5) : 2,
            quality: kinds.contains(.qualities) && random.happens(1, in: 3)
                ? random.below(5) : nil,
            target: id > 0 ? max(0, id - 1 - random.below(12)) : nil)
        switch kind {
        case .graphs: step.count = 1 + random.below(isOften ? 6 : 40)
        case .groups, .scopes, .temporaries, .shutDowns: step.count = 1 + random.below(8)
        case .widths:
            step.count = [2, 3, -1][random.below(3)]
            if kinds.contains(.serial), random.happens(1, in: 2) { step.count = 1 }
        case .cancels: if random.happens(1, in: 3) { step.target = nil }
        default: break
        }
        return step
    }
}

extension Step {
    fileprivate func with(queue: Int) -> Step {
        Step(
            id: id, kind: kind, queue: queue, count: count, hops: hops, style: style,
            priority: priority, quality: quality, target: target)
    }
}

extension Plan.Queue {
    fileprivate init(_ kinds: [Kind], _ random: inout SplitMix64) {
        width = [2, 3, 4, -1, -1, -1][random.below(6)]
        if kinds.contains(.serial), random.happens(2, in: 3) { width = 1 }
        if kinds.contains(.orders), random.happens(1, in: 2) { order = random.below(3) }
        if kinds.contains(.overflow), random.happens(1, in: 2) { capacity = 1 + random.below(20) }
        if kinds.contains(.qualities), random.happens(1, in: 5) { quality = random.below(5) }
        usesDispatch = kinds.contains(.dispatch) && random.happens(1, in: 2)
    }
}

extension SplitMix64 {
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    mutating func happens(_ one: Int, in many: Int) -> Bool { below(many) < one }
}
