// swift-format-ignore-file
// (The names are those of C.)
// What Swift for Apple's systems adds to the C library.
import Darwin

var errno: Int32 { 0 }
func open(_ path: String, _ flags: Int32) -> Int32 { 0 }
let CLOCK_MONOTONIC: clockid_t = _CLOCK_MONOTONIC
let CLOCK_MONOTONIC_RAW: clockid_t = _CLOCK_MONOTONIC_RAW
