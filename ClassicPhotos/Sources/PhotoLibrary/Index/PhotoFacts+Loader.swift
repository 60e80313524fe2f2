@_spi(ClassicPhotos) import PhotoPipeline

extension PhotoFacts {
    /// What a loader keeps with each photo that it decodes; see
    /// ``PhotoListSession/Options/forLoader``.
    static let notes: PhotoLoader.Options.Notes = { original, info, bitmap, limits in
        PhotoFacts(original: original, info: info, bitmap: bitmap, limits: limits)
    }
}

extension Photo {
    /// What is known of the photo; nil if its loader has no ``PhotoFacts/notes``.
    var facts: PhotoFacts? {
        var facts = notes as? PhotoFacts
        facts?.damage = damage
        return facts
    }
}
