#if DurableJobs && JOB_FAULTS
import Operations

/// What a round has, by its seed.
struct NemesisPlan: Sendable {
    enum Kind: String {
        /// Processes are stopped and killed, and the store has outages.
        case everything
        /// No worker dies, so no job may be discarded for a death.
        case harmless
        /// There are free slots, and nothing stands still.
        case freeSlots
        /// The same, and only some jobs kill their workers.
        case poison
    }

    let seed: UInt64
    let hasHosts: Bool

    var kind: Kind {
        switch seed % 4 {
        case 1: .harmless
        case 2: seed % 8 == 2 ? .freeSlots : .poison
        default: .everything
        }
    }

    var isQuiet: Bool { kind == .freeSlots || kind == .poison }

    /// After how many deaths a job is discarded. A limit of two makes each job a suspect whose
    /// worker has died once: workers keep their slots free for it.
    var deathLimit: Int {
        switch kind {
        case .harmless: 2
        case .freeSlots, .poison: 3
        case .everything: seed % 8 < 4 ? 2 : 3
        }
    }

    /// With a limit of two, some worker must be without jobs again and again, or a suspect waits
    /// for ten seconds.
    var pauseOfClient: Duration? {
        if isQuiet { return .milliseconds(800) }
        return deathLimit == 2 ? .milliseconds(1_500) : nil
    }

    /// Whether the store has many jobs that ended long ago.
    var hasHistory: Bool { seed % 3 == 1 }

    /// Whether the programs of the workers block the threads of Swift's own pool, each for longer
    /// than its lease.
    var hasBlockedPools: Bool { seed % 3 == 2 }

    /// The faults of the workers: in every third round, none fences itself.
    var workerFaults: String {
        seed % 3 == 0 ? "no-watchdog lose-answers pause" : "lose-answers pause"
    }

    /// Stopping and killing is more probable than what happens seldom.
    var processFaults: [ProcessFault] {
        var faults: [ProcessFault]
        switch kind {
        case .everything:
            faults = [
                .stop, .stop, .stop, .stopBeforePublishing, .stopBeforePublishing, .kill, .kill,
                .kill, .evict, .retire, .killClient, .shiftClock, .deploy,
            ]
            if deathLimit == 2 { faults += [.pursue, .pursueToDeath] }
        case .harmless:
            faults = [
                .stop, .stop, .stopBeforePublishing, .retire, .killClient, .shiftClock, .deploy,
                .pursue, .pursue,
            ]
        case .freeSlots: return [.kill, .evict, .retire, .retire, .killClient]
        case .poison: return [.retire, .killClient]
        }
        // Hosts have outages of their own.
        return hasHosts ? faults : faults + [.outage]
    }

    /// What the line of a result says about the round.
    var description: String {
        "\(kind), limit \(deathLimit)" + (hasHistory ? ", history" : "")
            + (hasBlockedPools ? ", blocked pools" : "")
    }
}
#endif
