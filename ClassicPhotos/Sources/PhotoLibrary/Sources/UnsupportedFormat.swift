/// A picture format that cannot be read, recognized by the extension of a file name.
///
/// Such a file is a valid picture, so it is reported by name and not counted among the files that
/// are not pictures.
struct UnsupportedFormat {
    /// The name of the format with an article, as in "a BMP picture".
    let name: String

    /// Why the format is not read, as a clause.
    private var problem: String {
        Self.unsafe.contains(name)
            ? "its decoder is not safe with damaged or malicious files"
            : "there is no decoder for it"
    }

    /// Why the format is not read, and for a raw file what to do, as a clause.
    var reason: String { isRaw ? "\(problem); \(advice)" : problem }

    /// What to do.
    var advice: String {
        isRaw ? "export it as JPEG" : "convert it to JPEG, PNG, TIFF or WebP"
    }

    private static let unsafe: Set = [
        "a BMP picture", "a JPEG XL picture", "a JPEG 2000 picture", "an SVG drawing",
    ]

    /// Whether this is a camera's raw file. Many of them start like files that are read, in which
    /// their first picture is a small preview. So the name of such a file decides, before its bytes
    /// do.
    var isRaw: Bool { Self.rawNames.contains(name) }

    /// A sentence for the place of a photo.
    var sentence: String { "This is \(name), which is not read: \(reason)." }

    /// A clause for the place of a source, after its name.
    var clause: String { "it is \(name), which is not read: \(problem)" }

    private static let rawNames: Set = [
        "a Canon raw file (CR3)", "a Fujifilm raw file (RAF)", "a camera's raw file of this kind",
    ]

    /// The format for a file's name; nil if the extension is unknown.
    init?(of name: some BidirectionalCollection<UInt8>) {
        guard let fileExtension = PictureFiles.fileExtension(of: name),
            let format = Self.names[fileExtension]
        else { return nil }
        self.name = format
    }

    private static let names: [String: String] = {
        var names: [String: String] = [:]
        for (name, extensions) in formats {
            for text in extensions.split(separator: " ") { names[String(text)] = name }
        }
        return names
    }()

    private static let formats = [
        ("a Canon raw file (CR3)", "cr3"),
        ("a Fujifilm raw file (RAF)", "raf"),
        (
            "a camera's raw file of this kind",
            "3fr crw dcr erf fff iiq k25 kdc mef mos mrw raw srf x3f"
        ),
        ("a BMP picture", "bmp dib"),
        ("a JPEG XL picture", "jxl"),
        ("a JPEG XR picture", "jxr wdp hdp"),
        ("a JPEG 2000 picture", "jp2 j2k j2c jpc jpf jpx jpm"),
        ("an SVG drawing", "svg svgz"),
        ("a Photoshop document", "psd psb"),
        ("a GIMP document", "xcf"),
        ("a Krita document", "kra"),
        ("a PostScript drawing", "eps ps ai"),
        ("an OpenEXR picture", "exr"),
        ("a Radiance picture", "hdr"),
        ("an icon (ICO)", "ico cur"),
        ("a Targa picture", "tga"),
        ("a PCX picture", "pcx"),
        ("a Netpbm picture", "pbm pgm ppm pnm pam"),
        ("an X11 picture", "xbm xpm xwd"),
        ("a QOI picture", "qoi"),
        ("a DirectDraw surface", "dds"),
    ]
}
