#if DurableJobs && Configuration
public import Configuration
import Operations

extension JobWorker.Options {
    /// Reads options from the providers of swift-configuration: environment variables, files.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// // JOBS_GRACE_PERIOD_SECONDS=30 JOBS_DEATH_LIMIT=5
    /// let options = try JobWorker.Options(config: config.scoped(to: "jobs"))
    /// ```
    ///
    /// <doc:UsingJobs> lists the keys. Seconds may have a fraction. A key without a
    /// value leaves the default.
    ///
    /// - Throws: ``JobConfigurationError`` for a value that is no number, or not in its range.
    public init(config: ConfigReader) throws {
        self.init()
        let values = ConfiguredValues(config: config)
        if let lease = try values.seconds("leaseSeconds", from: 1) { self.lease = lease }
        if let limit = try values.int("deathLimit", from: 1) { deathLimit = limit }
        if let time = try values.seconds("gracePeriodSeconds") { gracePeriod = time }
        if let time = try values.seconds("startPatienceSeconds") { startPatience = time }
        if let time = try values.seconds("agingSeconds", from: .leastNonzeroMagnitude) {
            aging = time
        }
        if let time = try values.seconds("historySeconds") { history = time }
        if let time = try values.seconds("discardedHistorySeconds") { discardedHistory = time }
        if values.text("archiveSeconds") == "none" {
            archive = nil
        } else if let time = try values.seconds("archiveSeconds") {
            archive = time
        }
    }
}

/// The error of a configuration that a worker cannot use.
public struct JobConfigurationError: Error, Hashable, CustomStringConvertible {
    /// The key, within the reader's scope.
    public let key: String
    /// The value, as text.
    public let value: String
    /// What to use instead.
    public let remedy: String

    /// A message for people.
    public var description: String {
        "the configuration value '\(key)' is '\(value)': use \(remedy)"
    }
}

/// The numbers of a configuration. Providers of text, and those of typed values, both have them.
package struct ConfiguredValues {
    private let config: ConfigReader

    package init(config: ConfigReader) { self.config = config }

    func text(_ key: ConfigKey) -> String? { config.string(forKey: key) }

    package func int(_ key: ConfigKey, from least: Int = 0) throws -> Int? {
        let text = text(key)
        guard let value = config.int(forKey: key) ?? text.flatMap({ Int($0) }) else {
            return try refuse(key, text, remedy: "a whole number")
        }
        guard value >= least else {
            return try refuse(key, "\(value)", remedy: "\(least) or more")
        }
        return value
    }

    func seconds(_ key: ConfigKey, from least: Double = 0) throws -> Duration? {
        let text = text(key)
        let number = config.double(forKey: key) ?? config.int(forKey: key).map { Double($0) }
        guard let value = number ?? text.flatMap({ Double($0) }) else {
            return try refuse(key, text, remedy: "a number of seconds")
        }
        guard value >= least, value.isFinite else {
            let least = least < 1 && least > 0 ? "more than 0" : "\(Int(least)) or more"
            return try refuse(key, "\(value)", remedy: least + ", in seconds")
        }
        // A century stands for every longer time.
        return .seconds(min(value, 100 * 365 * 86_400))
    }

    /// Throws, unless there is no value at all.
    private func refuse<Value>(
        _ key: ConfigKey, _ text: String?, remedy: String
    ) throws -> Value? {
        guard let text else { return nil }
        throw JobConfigurationError(
            key: key.components.joined(separator: "."), value: text, remedy: remedy)
    }
}
#endif
