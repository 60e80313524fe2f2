import ArgumentParser
import DurableJobsDashboard
import PhotoGallery

extension Jobs {
    struct Dashboard: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows the jobs of a queue as web pages, on this machine only.",
            discussion: """
                The pages say of each job why it does not run, or what became of it, and are kept \
                up to date. The address that the program prints contains a token, which is a new \
                one each time: other users of this machine cannot see the pages without it.
                """)

        @ParentCommand var parent: Jobs

        @OptionGroup var queueing: QueueOption

        @Option(
            help: """
                The port of the pages; 0 for any free port. (default: 8090, or the next one that \
                is free)
                """)
        var port: Int?

        @Flag(
            name: .customLong("allow-changes"),
            help: "Show buttons that retry and cancel jobs.")
        var allowsChanges = false

        func validate() throws {
            guard (0...65_535).contains(port ?? 0) else {
                throw ValidationError("--port must be between 0 and 65535.")
            }
        }

        func run() async throws {
            try await queueing.withQueue(parent.queue) { jobs, address in
                let dashboard = JobDashboard(jobs, at: "/", allowsChanges: allowsChanges)
                try await serve(dashboard, of: "\(address)")
            }
        }

        private func serve(_ dashboard: JobDashboard, of queue: String) async throws {
            let token = GalleryToken()
            let ports = port.map { [$0] } ?? Array(8_090..<8_110)
            for port in ports {
                let server = PageServer(port: port, token: token) { request, body in
                    let response = await dashboard.respond(to: request, body: body)
                    return (response.head, response.body)
                }
                do {
                    return try await server.run { port in
                        let address = PageAddress(
                            host: "127.0.0.1", port: port, token: token, origin: nil)
                        StandardOutput.writeLine(
                            "The jobs of \(queue) at \(address) (Press Ctrl-C to stop.)")
                        // Without output, nobody would know the address.
                        StandardOutput.exitIfBroken()
                    }
                } catch GalleryServer.Failure.portTaken where port != ports.last {
                    StandardOutput.writeLine("Port \(port) is in use by another program.")
                }
            }
        }
    }
}
