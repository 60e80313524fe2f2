public import ArgumentParser
public import PhotoImaging
import PhotoLibrary
@_spi(ClassicPhotos) import PhotoPipeline

/// Options that permit additional downloads.
struct DownloadOptions: ParsableArguments {
    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            """
            Allow downloads from this host (or host:port) although its address is not public, for \
            example in your own network. This option can be repeated.
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

    @Option(
        name: .customLong("allow-format"),
        help: ArgumentHelp(
            """
            Also decode downloads in HEIC and AVIF (heif), or cameras' raw files (raw). Without this \
            option, only your own files in these formats are decoded. The decoders of HEIC and AVIF \
            have had the most security faults. This option can be repeated.
            """,
            valueName: "format"))
    var allowedFormats: [OptionalFormat] = []

    @Option(help: "The maximum number of simultaneous downloads.")
    var downloads: Int = 6

    @Option(
        name: .customLong("max-pixels"),
        help: ArgumentHelp(
            "The maximum number of pixels of a picture, such as 200M; default: 100M.",
            valueName: "number"))
    var maximumPixels: PixelCount?

    func validate() throws {
        guard (1...64).contains(downloads) else {
            throw ValidationError("--downloads must be between 1 and 64.")
        }
    }

    /// The limits on files and downloads.
    var downloadLimits: DownloadLimits {
        var limits = DownloadLimits()
        if let maximum = maximumPixels?.value {
            limits.maximumFileBytes = max(
                limits.maximumFileBytes, DownloadLimits.maximumFileBytes(pixels: maximum))
        }
        return limits
    }

    /// The limits on the headers of photos.
    var limits: SourceLimits {
        var limits = SourceLimits()
        for format in allowedFormats { limits.downloads.allowedFormats.formUnion(format.formats) }
        guard let maximum = maximumPixels?.value else { return limits }
        for path in [\SourceLimits.files, \SourceLimits.downloads] {
            limits[keyPath: path].maximumPixels = maximum
            limits[keyPath: path].maximumProgressivePixels = maximum
            // A person who knows the size of a panorama knows its shape, too.
            limits[keyPath: path].maximumSide = 100_000
        }
        return limits
    }
}

/// A format that is decoded in downloads only on request.
enum OptionalFormat: String, ExpressibleByArgument, CaseIterable {
    /// The container of HEIC and AVIF.
    case heif
    /// Raw files that are built like TIFF.
    case raw

    var formats: Set<ImageFormat> {
        switch self {
        // HEIC and AVIF have the same container and the same risk.
        case .heif: [.heif, .avif]
        case .raw: [.raw]
        }
    }
}

/// What becomes of cameras' raw files.
struct RawOption: ParsableArguments {
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case show, skip
    }

    @Option(
        name: .customLong("raw"),
        help: ArgumentHelp(
            """
            What to do with cameras' raw files (NEF, CR2, DNG, ARW, ORF, RW2 and the like): show \
            the JPEG that the camera has put into the file, or skip the file, for example because \
            there is a JPEG of each photo beside it.
            """,
            valueName: "show|skip"))
    var choice = Choice.show

    /// Whether raw files are left out of lists.
    var skips: Bool { choice == .skip }
}

/// A number of pixels, as in 2500000 or 2.5M.
struct PixelCount: ExpressibleByArgument {
    let value: Int

    init?(argument: String) {
        let text = argument.uppercased()
        let isInMillions = text.hasSuffix("M")
        guard let number = Double(isInMillions ? String(text.dropLast()) : text),
            (1...1e10).contains(number * (isInMillions ? 1e6 : 1))
        else { return nil }
        value = Int(number * (isInMillions ? 1e6 : 1))
    }
}

extension ImageFormat: @retroactive ExpressibleByArgument {
    /// Accepts names and file name extensions: both `jpeg` and `jpg`.
    public init?(argument: String) {
        let name = argument.lowercased()
        guard let format = ImageFormat(rawValue: name) ?? ImageFormat(fileExtension: name) else {
            return nil
        }
        self = format
    }
}
