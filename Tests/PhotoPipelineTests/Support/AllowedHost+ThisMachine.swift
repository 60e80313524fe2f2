import PhotoPipeline

extension AllowedHost {
    /// Where the origins of tests listen; downloads from there are refused unless they are allowed.
    static let thisMachine = AllowedHost(host: "127.0.0.1", port: nil)
}
