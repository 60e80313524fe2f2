public import PhotoPipeline

extension AllowedHost {
    /// The host of the tests' origins; downloads from this host are blocked by default.
    public static let thisMachine = AllowedHost(host: "127.0.0.1", port: nil)
}
