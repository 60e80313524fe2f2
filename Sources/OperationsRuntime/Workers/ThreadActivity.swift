/// What a thread does at a moment, as the system says.
package enum ThreadActivity: Sendable, Equatable {
    /// The thread computes, or waits for a processor.
    case computes
    /// The thread waits in the kernel. The text is the kernel's name of the place, if it is known.
    case waits(at: String?)

    /// The activity as a clause: "its thread sleeps".
    package var text: String {
        switch self {
        case .computes: "its thread computes"
        case .waits(nil): "its thread waits"
        case .waits(let place?): "its thread waits for \(Self.cause(at: place)) (\(place))"
        }
    }

    /// What a thread waits for at a place of Linux's kernel.
    private static func cause(at place: String) -> String {
        // The beginnings of the functions' names, and a part that may stand anywhere, last.
        let causes: [(String, String)] = [
            ("futex", "a lock or another thread"), ("hrtimer_nanosleep", "a time"),
            ("do_nanosleep", "a time"), ("pipe", "a pipe"), ("anon_pipe", "a pipe"),
            ("do_wait", "a child process"), ("kernel_wait", "a child process"),
            ("do_sys_poll", "a descriptor"), ("poll_schedule", "a descriptor"),
            ("do_poll", "a descriptor"), ("do_select", "a descriptor"),
            ("ep_poll", "a descriptor"), ("do_epoll", "a descriptor"),
            ("inet_csk", "a connection"), ("sk_wait", "a socket"), ("wait_woken", "a socket"),
            ("__skb", "a socket"), ("unix_stream", "a socket"), ("tcp_", "a socket"),
            ("n_tty", "a terminal"), ("folio_wait", "a disk"), ("io_schedule", "a disk"),
            ("rq_qos_wait", "a disk"), ("jbd2", "a disk"), ("nfs", "a file server"),
            ("rpc_wait", "a file server"), ("flock", "a file's lock"),
            ("locks_lock", "a file's lock"), ("do_sigtimedwait", "a signal"),
            ("sigsuspend", "a signal"), ("do_semtimedop", "a semaphore"),
        ]
        return causes.first { place.hasPrefix($0.0) }?.1 ?? "the system"
    }
}
