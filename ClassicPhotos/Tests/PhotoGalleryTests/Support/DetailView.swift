/// Conditions of the view of one photo.
enum DetailView {
    static let isOpen = "document.querySelector('#detail')?.open === true"
    static let isClosed = "document.querySelector('#detail')?.open !== true"

    /// The stage shows a picture of the picture route, completely decoded.
    static let isLarge = """
        (image => image.src.includes('/api/photos/') && image.complete && image.naturalWidth > 0)(
            document.querySelector('#detail .canvas img:last-of-type'))
        """
}

extension Browser {
    /// Waits until the picture has moved from its cell to the stage; meanwhile, the browser drops
    /// events of pointers.
    func waitForRest() async throws {
        try await wait(
            for: "document.getAnimations().every(({ effect }) => !effect.pseudoElement)",
            "the picture has come to rest")
    }

    /// Waits until the picture has the size to which it was enlarged.
    func waitForZoom() async throws {
        try await wait(
            for: "document.querySelector('#detail .canvas').getAnimations().length === 0",
            "the picture has its new size")
    }
}
