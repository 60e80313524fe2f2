#if PhotoPipeline
public import PhotoImaging

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The limits on the headers of photos, by their origin.
public struct SourceLimits: Sendable, Hashable {
    /// The limits on a person's own files.
    public var files: ImageLimits
    /// The limits on downloads.
    public var downloads: ImageLimits

    /// Creates limits; by default, HEIF and AVIF are allowed only in files.
    public init(files: ImageLimits = .ownFiles, downloads: ImageLimits = .standard) {
        self.files = files
        self.downloads = downloads
    }

    /// The limits on the photo at a URL: on a file if it has the scheme `file`.
    public func limits(for url: URL) -> ImageLimits { url.isFileURL ? files : downloads }
}
#endif
