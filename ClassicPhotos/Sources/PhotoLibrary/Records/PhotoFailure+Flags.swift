public import PhotoPipeline

extension PhotoFailure {
    /// The reason, and the flag of the photo program that helps.
    ///
    /// The library's own sentences name no flags: other programs have other options.
    public var reasonWithFlag: String { reason + (cause?.flag ?? "") }
}

extension PhotoFailure.Cause {
    /// A sentence with a space before it; empty if no flag helps.
    fileprivate var flag: String {
        switch code {
        case .addressBlocked: " Use --allow-host \(values["allowed"] ?? "") to allow this host."
        case .formatNotAllowed where ["heif", "avif"].contains(values["format"]):
            " Use --allow-format heif to allow HEIC and AVIF in downloads."
        case .formatNotAllowed where values["format"] == "raw":
            " Use --allow-format raw to allow raw files in downloads."
        case .tooManyPixels, .tooManyFrames: " The flag is --max-pixels."
        case .damaged: " Use --accept-damaged to process what is left of it."
        case .fileExists: " Use --overwrite to replace such files."
        default: ""
        }
    }
}
