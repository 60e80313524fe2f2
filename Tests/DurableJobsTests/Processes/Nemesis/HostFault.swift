#if DurableJobs && JOB_FAULTS
import DurableJobs
import Operations

/// What can happen to a host or to the database. Each fault is over when its function returns.
///
/// The sleeps are part of the faults.
enum HostFault: String, CaseIterable {
    /// The switch drops the packets of a host.
    case cut
    /// A host receives nothing.
    case deafen
    /// A host sends nothing.
    case mute
    /// The primary is killed, and started again.
    case restart
    case restartStandby
    /// The primary is killed, and the standby takes its place.
    case promote
    case fillDisk
    case limitStatements

    func strike(
        _ hosts: NemesisHosts, _ settings: NemesisSettings, _ random: inout FaultRandom
    ) async throws {
        let host = random.element(NemesisHosts.names + ["database0", "database1"])
        let pause = random.time(settings.lease, 0.5...2)
        let primary = hosts.primary
        switch self {
        case .cut, .deafen, .mute:
            await hosts.run("\(rawValue) \(host)")
            try await Task.sleep(for: pause)
            await hosts.run("mend \(host)")
        case .restart: await hosts.crashing { await hosts.run("restart \(primary)") }
        case .restartStandby: await hosts.run("restart \(hosts.standby)")
        case .promote:
            await hosts.crashing { await hosts.promote() }
            // Commits wait for a standby.
            try await Task.sleep(for: pause / 2)
            await hosts.run("clone \(hosts.standby) \(hosts.primary)")
        case .fillDisk:
            // The database crashes if it cannot write its log.
            try await hosts.crashing {
                await hosts.run("fill_disk \(primary)")
                try await Task.sleep(for: pause)
                await hosts.run("empty_disk \(primary)")
                await hosts.run("revive \(primary)")
            }
        case .limitStatements:
            await hosts.run("limit_statements \(primary) \(random.number(1..<10))")
            try await Task.sleep(for: pause)
            await hosts.run("limit_statements \(primary) 0")
        }
        // The next fault may need the standby.
        await hosts.run("await_standby \(hosts.primary)")
    }
}
#endif
