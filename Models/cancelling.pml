/* Cancelling several operations together, while workers run. See Cancellation.md.
 *
 * D is one of these operations, and its class may override `cancel()`. D waits for one dependency,
 * which finishes on a thread of its own. Meanwhile D is marked cancellationPending, its `cancel()`
 * is called, and after that call or inside it D is cancelled. Another thread announces several
 * times that D may be ready. A worker takes D when D is queued. The override of `isReady` says yes.
 *
 * One atomic step is one compare-and-swap of D's lifecycle state, or touches only data that the
 * queue's lock guards.
 *
 * Sources:
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Scheduling/QueueState+Cancelling.swift
 *   Operations/Outcome/CancelRound.swift
 *   Operations/Outcome/Operation+Cancelling.swift
 */

mtype = { waiting, checkingReadiness, queued, starting, executing, finished };

/* The lifecycle state */
mtype phase = waiting;
bool  askAgain, hasDependency = true, cancellationPending, cancelled;

/* Whether D is in the ready queue */
bool  inReadyQueue;

/* Counters that the assertions check */
bool  cancelWasCalled, wasPendingAtStart;
byte  claims, starts, actors;

#define awaitsCancel (cancellationPending && !cancelled)
#define isReady      (!hasDependency || cancelled)
#define mayStart     (isReady && !awaitsCancel)

/* An event after which D may be ready. Part of an atomic step. */
inline event() {
    if
#ifdef BREAK_MAKE_READY         /* D becomes ready before its cancel() is called */
    :: phase == waiting && isReady -> phase = checkingReadiness; mustCheck = true
#else
    :: phase == waiting && isReady && !awaitsCancel -> phase = checkingReadiness; mustCheck = true
#endif
    :: phase == checkingReadiness -> askAgain = true
    :: else
    fi
}

inline checkReadiness() {
    do
    :: mustCheck ->
        atomic { saysYes = isReady && !awaitsCancel;
#ifdef BREAK_MAKE_READY
            saysYes = isReady
#endif
        }
        atomic {
            if
            :: phase != checkingReadiness -> mustCheck = false
            :: phase == checkingReadiness && saysYes ->
                phase = queued; askAgain = false; mustCheck = false; entersQueue = true
            :: phase == checkingReadiness && !saysYes && askAgain -> askAgain = false
            :: phase == checkingReadiness && !saysYes && !askAgain ->
                phase = waiting; mustCheck = false
            fi
        }
        if
        :: entersQueue -> entersQueue = false; putIntoReadyQueue()
        :: else
        fi
    :: else -> break
    od
}

/* Under the queue's lock. */
inline putIntoReadyQueue() {
    atomic {
        if
        :: phase == queued && isReady -> inReadyQueue = true
        :: phase == queued && !isReady -> phase = waiting
        :: else
        fi
    }
}

proctype Worker() {
    bool mustCheck, saysYes, entersQueue, mustReturn;
end_worker:
    do
    :: atomic { inReadyQueue -> inReadyQueue = false; claims++; assert(claims <= 3) }
        atomic {
            if
#ifdef BREAK_AWAIT              /* a marked operation may leave at once */
            :: phase == queued && (mayStart || cancellationPending) ->
#else
            :: phase == queued && mayStart ->
#endif
                phase = starting; wasPendingAtStart = cancellationPending && !cancelled
            :: phase == queued && !mayStart -> mustReturn = true
            :: else
            fi
        }
        if
        :: mustReturn ->
            mustReturn = false;
            atomic {
                if
#ifdef BREAK_RETURN             /* back to waiting, whatever the state has become */
                :: phase == queued -> phase = waiting
#else
                :: phase == queued && mayStart -> entersQueue = true
                :: phase == queued && !mayStart -> phase = waiting
#endif
                :: else
                fi
            }
            if
            :: entersQueue -> entersQueue = false; putIntoReadyQueue()
            :: else
            fi
        :: phase == starting ->
            atomic {
                if
                :: cancelled -> phase = finished; assert(cancelWasCalled)
#ifdef BREAK_AWAIT
                :: !cancelled && wasPendingAtStart ->
                    cancelled = true; phase = finished; assert(cancelWasCalled)
#endif
                :: else -> phase = executing; starts++; assert(!wasPendingAtStart)
                fi
            }
            if
            :: phase == executing -> phase = finished
            :: else
            fi
        :: else
        fi
    od
}

proctype Canceller() {
    bool mustCheck, saysYes, entersQueue, mustMove;
    atomic {
        if
        :: phase != finished -> cancellationPending = true
        :: else
        fi
    }
    /* The override runs for any time. */
    cancelWasCalled = true;
    atomic {
        if
        :: phase != finished && !cancelled ->
            cancelled = true;
            if
            :: phase == queued -> mustMove = true
            :: else -> event()
            fi
        :: else
        fi
    }
    /* D moves to the cancelled list, if it is in the ready queue. Here both are the same list. */
    checkReadiness();
    actors--
}

proctype Dependency() {
    bool mustCheck, saysYes, entersQueue;
    atomic { hasDependency = false; event() }
    checkReadiness();
    actors--
}

proctype Announcer(byte times) {
    bool mustCheck, saysYes, entersQueue;
    do
    :: times > 0 ->
        times--;
        atomic { true -> event() }
        checkReadiness()
    :: else -> break
    od;
    actors--
}

init {
    atomic {
        actors = 3;
        run Worker();
        run Canceller();
        run Dependency();
        run Announcer(2)
    }
    actors == 0;
    /* In the end D has finished. */
    phase == finished;
    assert(starts <= 1)
}
