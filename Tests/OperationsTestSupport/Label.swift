/// A task-local value, for tests of which code sees it.
package enum Label {
    @TaskLocal package static var value = "none"
}
