@_spi(ClassicPhotos) import PhotoImaging
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A filter as written on the command line or in a recipe.
///
/// Here a look names its file: `look=film.cube`.
enum FilterArgument {
    /// Checks the text of a filter without reading a file.
    static func check(_ text: String) throws(ImagingError) {
        if try ImageFilter.lookFile(in: text) == nil { _ = try ImageFilter(text) }
    }

    /// The filter. Reads the file of a look.
    ///
    /// - Parameter folder: the folder of relative paths; nil for the working folder.
    /// - Throws: ``Stop`` with a sentence about the text or the file.
    static func filter(_ text: String, relativeTo folder: URL? = nil) throws(Stop) -> ImageFilter {
        do {
            guard let (path, intensity) = try ImageFilter.lookFile(in: text) else {
                return try ImageFilter(text)
            }
            let file = URL(filePath: path, relativeTo: folder)
            return .look(try Look(contentsOf: file, named: path), intensity: intensity)
        } catch let error as PhotoSourceError {
            throw Stop("\(error).")
        } catch {
            throw Stop("\(error)")
        }
    }
}
