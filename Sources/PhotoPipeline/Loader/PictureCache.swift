#if PhotoPipeline
public import PhotoImaging
import Synchronization

/// A picture and its name, which follows from the contents: equal pictures of all pages and runs
/// have one name, so a browser that has the picture need not transfer it again.
@_spi(ClassicPhotos) public struct NamedPicture: Sendable {
    /// The picture.
    public let image: EncodedImage
    /// The name.
    public let name: PictureName

    /// Names a picture.
    ///
    /// - Complexity: O(n) in the number of bytes.
    public init(_ image: EncodedImage) {
        self.image = image
        name = PictureName(hash: fnv1a(image.bytes))
    }
}

/// Pictures in memory, up to a number of bytes; drops the least recently used first.
///
/// Thread-safe. Each operation takes constant time, apart from the pictures that it drops.
final class PictureCache: Sendable {
    /// A picture that can be kept.
    enum Picture: Sendable {
        case pixels(Photo)
        case file(NamedPicture)
        case original([UInt8])

        var byteCount: Int {
            switch self {
            case .pixels(let photo): photo.bitmap.byteCount
            case .file(let picture): picture.image.bytes.count
            case .original(let bytes): bytes.count
            }
        }
    }

    /// The memory that an entry takes in addition to its picture, approximately.
    private static let overhead = 400

    private let pictures: Mutex<ByteCache<PictureKey, Picture>>

    /// - Parameter limit: the maximum size of all pictures in bytes; 0 to keep none.
    init(limit: Int) { pictures = Mutex(ByteCache(byteLimit: limit, largestEntry: limit)) }

    /// The size of all pictures in bytes.
    var byteCount: Int { pictures.withLock { $0.byteCount } }

    func photo(_ key: PictureKey, from origin: Photo.Origin) -> Photo? {
        guard case .pixels(var photo)? = picture(key) else { return nil }
        photo.origin = origin
        return photo
    }

    func insert(_ photo: Photo) { insert(.pixels(photo), for: photo.key) }

    func file(_ key: PictureKey) -> NamedPicture? {
        if case .file(let file)? = picture(key) { file } else { nil }
    }

    func original(_ key: PictureKey) -> [UInt8]? {
        if case .original(let bytes)? = picture(key) { bytes } else { nil }
    }

    /// Whether the picture is in memory; does not count as a use.
    func contains(_ key: PictureKey) -> Bool { pictures.withLock { $0.contains(key) } }

    private func picture(_ key: PictureKey) -> Picture? {
        pictures.withLock { $0.value(for: key) }
    }

    /// Keeps a picture, unless it is larger than the limit.
    func insert(_ picture: Picture, for key: PictureKey) {
        let cost = picture.byteCount + Self.overhead
        // Released without the lock.
        let dropped = pictures.withLock { $0.insert(picture, byteCount: cost, for: key) }
        withExtendedLifetime(dropped) {}
    }

    /// Drops all pictures.
    func removeAll() {
        let dropped = pictures.withLock { $0.removeAll() }
        withExtendedLifetime(dropped) {}
    }
}
#endif
