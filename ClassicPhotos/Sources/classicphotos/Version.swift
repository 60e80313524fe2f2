/// The version of the program and of the libraries. Documentation/Releasing.md lists what has to
/// agree with it; `make release-check` compares them.
let version = "0.2.0"
