public import PhotoPipeline

extension DownloadLimits {
    /// One attempt, with time limits that even a busy machine does not reach; each test sets the
    /// limit that it tests.
    public static var patient: DownloadLimits {
        var limits = patientWithRetries
        limits.attempts = 1
        limits.retryDelay = .milliseconds(1)
        return limits
    }

    /// Time limits that even a busy machine does not reach, and the usual attempts.
    public static var patientWithRetries: DownloadLimits {
        var limits = DownloadLimits()
        limits.connectTimeout = .seconds(600)
        limits.firstByteTimeout = .seconds(600)
        limits.idleTimeout = .seconds(600)
        limits.rateWindow = .seconds(600)
        limits.totalTimeout = .seconds(600)
        return limits
    }
}
