import HTTPTypes

extension HTTPFields {
    /// The fields with these names and values. Names that are not valid are left out.
    init(_ pairs: [(String, String)]) {
        self.init()
        for (name, value) in pairs {
            if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
        }
    }
}
