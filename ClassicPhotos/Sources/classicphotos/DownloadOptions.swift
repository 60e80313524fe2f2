import ArgumentParser
import PhotoPipeline

/// Options that permit additional downloads.
struct DownloadOptions: ParsableArguments {
    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            """
            A host, or host:port, from which downloads are allowed although its address is not \
            public, for example in your own network. May be given more than once.
            """,
            valueName: "name"),
        transform: { text in
            guard let host = AllowedHost(text) else {
                throw ValidationError(
                    "\"\(text)\" is neither a host nor host:port, as in nas.local or 192.168.1.5:8080."
                )
            }
            return host
        })
    var allowedHosts: [AllowedHost] = []
}
