import ArgumentParser
import PhotoJobs

extension Jobs {
    struct Migrate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes the tables of a queue, or migrates those of an older version.",
            discussion: """
                Other commands do the same when they open a queue. Use this command to do it at \
                another time, or with a role that has more rights than the workers.
                """)

        @ParentCommand var parent: Jobs

        @OptionGroup var queueing: QueueOption

        @Flag(
            name: .customLong("print"),
            help: "Change nothing, and print the SQL statements for PostgreSQL.")
        var printsStatements = false

        @Flag(name: .customLong("json"), help: "Print the versions as JSON.")
        var printsJSON = false

        func validate() throws {
            guard !(printsStatements && printsJSON) else {
                throw ValidationError("--print and --json cannot be combined.")
            }
        }

        func run() async throws {
            let address = try queueing.requiredAddress(parent.queue)
            try await stopping {
                let found = try await address.schemaVersion()
                guard !printsStatements else { return try printStatements(address, found) }
                try await address.migrate()
                let version = try await address.schemaVersion()
                StandardOutput.writeLine(
                    printsJSON
                        ? "{\"from\":\(found),\"to\":\(version)}"
                        : Self.report(address, found, version))
            }
        }

        private func printStatements(_ address: PhotoQueueAddress, _ found: Int) throws {
            guard let statements = address.migration(from: found) else {
                throw Stop(
                    "--print is for PostgreSQL. The tables of a file are migrated by the first "
                        + "program that opens the file.")
            }
            guard !statements.isEmpty else {
                return Terminal.writeError("Note: \(Self.report(address, found, found))\n")
            }
            StandardOutput.writeLine("\(statements.dropLast())")
        }

        private static func report(
            _ address: PhotoQueueAddress, _ found: Int, _ version: Int
        ) -> String {
            let tables = "the tables of \(address)"
            return switch found {
            case 0: "Made \(tables), in version \(version)."
            case version: "T\(tables.dropFirst()) have version \(version). There is nothing to do."
            default: "Migrated \(tables) from version \(found) to \(version)."
            }
        }
    }
}
