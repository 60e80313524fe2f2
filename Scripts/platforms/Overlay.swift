// swift-format-ignore-file
// (The names are those of C.)
// What Swift adds to the C library. See check-platforms.
import Darwin

var errno: Int32 { 0 }
func open(_ path: String, _ flags: Int32) -> Int32 { 0 }
#if Darwin
let CLOCK_MONOTONIC: clockid_t = _CLOCK_MONOTONIC
let CLOCK_MONOTONIC_RAW: clockid_t = _CLOCK_MONOTONIC_RAW
#endif
