// swift-format-ignore-file
// (The names are those of C.)
// Stands for Apple's C library on Linux, for the compiler only: what the libraries use of it, with
// Apple's types, beside the C library of Linux. Nothing here is ever called. See check-platforms.
@_exported import Glibc

public typealias thread_act_t = UInt32
public typealias integer_t = Int32
public typealias mach_msg_type_number_t = UInt32
public typealias thread_flavor_t = UInt32
public typealias kern_return_t = Int32

public struct time_value {
    public var seconds: Int32 = 0
    public var microseconds: Int32 = 0
}

public struct thread_basic_info {
    public var user_time = time_value()
    public var system_time = time_value()
    public var run_state: Int32 = 0

    public init() {}
}

public var THREAD_BASIC_INFO: Int32 { 3 }
public var KERN_SUCCESS: Int32 { 0 }
public var TH_STATE_WAITING: Int32 { 3 }
public var TH_STATE_UNINTERRUPTIBLE: Int32 { 4 }

public func thread_info(
    _ thread: thread_act_t, _ flavor: thread_flavor_t, _ info: UnsafeMutablePointer<integer_t>!,
    _ count: UnsafeMutablePointer<mach_msg_type_number_t>!
) -> kern_return_t { fatalError() }

public struct OpaqueThread {}
public typealias pthread_t = UnsafeMutablePointer<OpaqueThread>

/// Named differently because the library of Linux has a function of that name, and the same types.
public func apple_pthread_self() -> pthread_t { fatalError() }
public func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t?>!, _ attributes: UnsafePointer<pthread_attr_t>?,
    _ body: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 { fatalError() }
@discardableResult public func pthread_detach(_ thread: pthread_t) -> Int32 { fatalError() }
public func pthread_mach_thread_np(_ thread: pthread_t!) -> thread_act_t { fatalError() }
@discardableResult public func pthread_setname_np(_ name: String) -> Int32 { fatalError() }
public func pthread_main_np() -> Int32 { fatalError() }
public func pthread_get_stacksize_np(_ thread: pthread_t) -> Int { fatalError() }
public func pthread_get_stackaddr_np(_ thread: pthread_t) -> UnsafeMutableRawPointer { fatalError() }
@discardableResult public func pthread_key_create(
    _ key: UnsafeMutablePointer<pthread_key_t>!,
    _ destructor: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> Int32 { fatalError() }
public func pthread_cond_timedwait_relative_np(
    _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
    _ time: UnsafePointer<timespec>?
) -> Int32 { fatalError() }

public struct qos_class_t: RawRepresentable, Equatable, Sendable {
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

public var QOS_CLASS_USER_INTERACTIVE: qos_class_t { .init(rawValue: 0x21) }
public var QOS_CLASS_UTILITY: qos_class_t { .init(rawValue: 0x11) }
public var QOS_CLASS_BACKGROUND: qos_class_t { .init(rawValue: 0x09) }

@discardableResult public func pthread_set_qos_class_self_np(
    _ quality: qos_class_t, _ priority: Int32
) -> Int32 { fatalError() }

public struct statfs {
    public var f_flags: UInt32 = 0
    public var f_fstypename: (CChar, CChar, CChar, CChar) = (0, 0, 0, 0)

    public init() {}

    // In C a function and a structure may have one name. This is the function, and its result.
    public init(_ path: String, _ result: UnsafeMutablePointer<statfs>!) { fatalError() }
    public static func == (result: statfs, number: Int32) -> Bool { fatalError() }
}

public var MNT_LOCAL: Int32 { 0x1000 }

public func sysctlbyname(
    _ name: String, _ old: UnsafeMutableRawPointer?, _ size: UnsafeMutablePointer<Int>?,
    _ new: UnsafeMutableRawPointer?, _ newSize: Int
) -> Int32 { fatalError() }

public var SOCK_STREAM: Int32 { 1 }

extension stat {
    public var st_mtimespec: timespec { fatalError() }
}
