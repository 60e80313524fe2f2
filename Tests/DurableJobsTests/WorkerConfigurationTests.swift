#if DurableJobs && Configuration
import Configuration
import DurableJobs
import Testing

/// Options of a worker that come from providers of configuration.
struct WorkerConfigurationTests {
    private func options(_ values: [AbsoluteConfigKey: ConfigValue]) throws -> JobWorker.Options {
        let config = ConfigReader(provider: InMemoryProvider(values: values))
        return try JobWorker.Options(config: config.scoped(to: "jobs"))
    }

    private func options(environment: [String: String]) throws -> JobWorker.Options {
        let provider = EnvironmentVariablesProvider(environmentVariables: environment)
        return try JobWorker.Options(config: ConfigReader(provider: provider).scoped(to: "jobs"))
    }

    @Test func whatIsNotSetKeepsItsDefault() throws {
        let (read, defaults) = (try options([:]), JobWorker.Options())
        #expect(read.lease == defaults.lease && read.deathLimit == defaults.deathLimit)
        #expect(read.gracePeriod == defaults.gracePeriod && read.aging == nil)
        #expect(read.history == defaults.history && read.archive == defaults.archive)
        #expect(read.discardedHistory == .seconds(30 * 86_400))
        #expect(read.startPatience == .seconds(60))
    }

    @Test func environmentVariablesSetOptions() throws {
        let read = try options(environment: [
            "JOBS_LEASE_SECONDS": "20", "JOBS_DEATH_LIMIT": "5",
            "JOBS_GRACE_PERIOD_SECONDS": "2.5", "JOBS_AGING_SECONDS": "60",
            "JOBS_START_PATIENCE_SECONDS": "0",
            "JOBS_HISTORY_SECONDS": "0", "JOBS_ARCHIVE_SECONDS": "none",
            "JOBS_DISCARDED_HISTORY_SECONDS": "604800",
        ])
        #expect(read.lease == .seconds(20) && read.deathLimit == 5)
        #expect(read.gracePeriod == .seconds(2.5) && read.aging == .seconds(60))
        #expect(read.history == .zero && read.archive == nil)
        #expect(read.discardedHistory == .seconds(7 * 86_400))
        #expect(read.startPatience == .zero)
    }

    @Test func typedValuesSetOptions() throws {
        let read = try options([
            ["jobs", "leaseSeconds"]: 20, ["jobs", "gracePeriodSeconds"]: 2.5,
            ["jobs", "archiveSeconds"]: "60",
        ])
        #expect(read.lease == .seconds(20) && read.gracePeriod == .seconds(2.5))
        #expect(read.archive == .seconds(60))
    }

    @Test(arguments: [
        ("JOBS_LEASE_SECONDS", "0.5", "1 or more, in seconds"),
        ("JOBS_LEASE_SECONDS", "soon", "a number of seconds"),
        ("JOBS_LEASE_SECONDS", "nan", "1 or more, in seconds"),
        ("JOBS_GRACE_PERIOD_SECONDS", "-1", "0 or more, in seconds"),
        ("JOBS_AGING_SECONDS", "0", "more than 0, in seconds"),
        ("JOBS_HISTORY_SECONDS", "inf", "0 or more, in seconds"),
        ("JOBS_DEATH_LIMIT", "0", "1 or more"), ("JOBS_DEATH_LIMIT", "1.5", "a whole number"),
    ])
    func badValuesAreRefused(name: String, value: String, remedy: String) throws {
        let error = #expect(throws: JobConfigurationError.self) {
            _ = try options(environment: [name: value])
        }
        #expect(error?.remedy == remedy)
        #expect(error?.description.contains("use \(remedy)") == true)
    }
}
#endif
