#if DurableJobs && Configuration
import Configuration
import DurableJobs
import Testing

@testable import DurableJobFiles

struct FileConfigurationTests {
    private func limit(_ variables: [String: String]) throws -> Int? {
        let config = ConfigReader(
            provider: EnvironmentVariablesProvider(environmentVariables: variables))
        let storage = try JobStorage.file("unused").withFiles(config: config.scoped(to: "jobs"))
        return (storage.extension as? JobFiles)?.attachmentLimit
    }

    @Test func environmentVariableSetsTheLimit() throws {
        #expect(try limit([:]) == 2 << 30)
        #expect(try limit(["JOBS_ATTACHMENT_LIMIT_BYTES": "1000"]) == 1_000)
        for value in ["2 GB", "-1"] {
            let error = #expect(throws: JobConfigurationError.self) {
                _ = try limit(["JOBS_ATTACHMENT_LIMIT_BYTES": value])
            }
            #expect(error?.key == "attachmentLimitBytes")
        }
    }
}
#endif
