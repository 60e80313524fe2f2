/// An error for bodies that fail on purpose.
package struct NoConnection: Error, Equatable, CustomStringConvertible {
    package var number: Int
    package init(number: Int = 0) { self.number = number }

    package var description: String { "no connection" }
}
