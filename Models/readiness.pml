/* Readiness: calling an overridden `isReady`. See LifecycleStates.md.
 *
 * The operation waits for one dependency. Its class overrides `isReady`: the override returns a
 * variable of the user if `super` says yes. Two threads set the variable several times, and report
 * each change with `didChangeValue`. A third thread enqueues the operation. The dependency finishes
 * on a fourth. Chosen by macros:
 *   CANCEL  the operation is cancelled, too; an override that says no keeps it all the same
 *   ALONE   the override does not call `super`
 *   OWN     the class has no override, and another dependency is added late: the operation must
 *           never be queued with an unfinished dependency
 *
 * The user's variable is an ordinary one. Other threads see a write at some later time, at the
 * latest after the writer's next compare-and-swap, which empties its store buffer. So the model
 * also shows which events must be a compare-and-swap even if they change no bit.
 *
 * Sources:
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Lifecycle/Operation+LifeCycle.swift
 *   Operations/Lifecycle/Operation+Transitions.swift
 *   Operations/Scheduling/QueueState+Declining.swift
 */

mtype = { created, waiting, checkingReadiness, queued };

/* The lifecycle state */
mtype phase = created;
bool  askAgain;
bool  hasDependency = true;
bool  cancelled;
bool  forced;

/* The user's variable, and the writes of the two threads that no other thread sees yet */
bool  answer;
bool  isBuffered[2], buffered[2];

/* Counters that the assertions check */
byte  callers, timesQueued;
bool  isAsked;                  /* the answer is that of the override */
byte  unfinishedThreads;

/* A compare-and-swap by the thread `me` empties its store buffer first. */
#define cas(me)  if :: isBuffered[me] -> answer = buffered[me]; isBuffered[me] = false :: else fi

#define isReady  (!hasDependency || cancelled)

/* An event after which the operation may be ready. The thread that moves the phase to
 * checkingReadiness calls `isReady`. If the phase is checkingReadiness already, askAgain notifies
 * the calling thread. An announced change may make the operation ready in spite of dependencies. */
inline event(isAnnounced) {
    if
    :: phase == waiting && (isReady || isAnnounced) -> phase = checkingReadiness; mustCheck = true
    :: phase == checkingReadiness ->
#ifndef BREAK_ASKAGAIN          /* the calling thread does not learn of events during its call */
        askAgain = true
#endif
    :: else
    fi
}

/* Of a cancelled operation, `super` says yes. */
inline askOverride() {
    isAsked = true;
#ifdef ALONE
    saysYes = answer
#else
    saysYes = isReady;
#ifndef OWN
    if
    :: saysYes -> saysYes = answer
    :: else
    fi
#endif
#endif
}

/* Without a lock. The loop ends because the number of events is limited. */
inline checkReadiness() {
    do
    :: mustCheck ->
        atomic { callers++; assert(callers == 1); wasReady = isReady }
#ifdef BREAK_CANCELLED          /* does not ask the override of a cancelled operation */
        if
        :: cancelled -> saysYes = true; isAsked = false
        :: else -> askOverride()
        fi;
#else
        askOverride();
#endif
        callers--;
        atomic {
            assert(phase == checkingReadiness);
            if
            :: saysYes && isReady ->
                assert(isAsked);
                phase = queued; timesQueued++; askAgain = false; mustCheck = false
#ifdef BREAK_INSIST             /* a yes always counts as the override's own */
            :: saysYes && !isReady ->
#else
            :: saysYes && !isReady && (wasReady || askAgain) -> askAgain = false
            :: saysYes && !isReady && !wasReady && !askAgain ->
#endif
                forced = true; phase = queued; timesQueued++; mustCheck = false
#ifdef BREAK_STILL_NOT_READY    /* back to waiting, even if askAgain was set */
            :: !saysYes -> phase = waiting; askAgain = false; mustCheck = false
#else
            :: !saysYes && askAgain -> askAgain = false
            :: !saysYes && !askAgain -> phase = waiting; mustCheck = false
#endif
            fi;
            saysYes = false
        }
    :: else -> break
    od
}

/* Sets the variable to `first`, then to the opposite, and so on, and reports each change. */
proctype Changer(byte me; bool first; byte times) {
    bool mustCheck, saysYes, wasReady, value;
    value = first;
    do
    :: times > 0 ->
        times--;
        atomic { cas(me); buffered[me] = value; isBuffered[me] = true; value = !value }
        if
#ifdef BREAK_ALREADY_SET        /* an event does not set a flag that is set */
        :: phase == checkingReadiness && askAgain -> skip
#endif
#ifdef BREAK_ONLY_READ          /* an event only reads a state that is not ready */
        :: phase == created || (phase == waiting && hasDependency) -> skip
#endif
        :: atomic { true -> cas(me); event(true) }
        fi;
        checkReadiness()
    :: else -> break
    od;
    unfinishedThreads--
}

/* The processor empties the store buffers at any time. */
active proctype Memory() {
end_memory:
    do
    :: atomic { isBuffered[0] -> cas(0) }
    :: atomic { isBuffered[1] -> cas(1) }
    od
}

proctype Enqueuer() {
    bool mustCheck, saysYes, wasReady;
    atomic { phase = checkingReadiness; mustCheck = true };
    checkReadiness();
    unfinishedThreads--
}

proctype Dependency() {
    bool mustCheck, saysYes, wasReady;
    atomic { hasDependency = false; event(false) };
    checkReadiness();
#ifdef OWN
    /* Another dependency is added, and finishes. If the operation was queued, it waits again, and
     * its `isReady` is called again. */
    atomic {
        hasDependency = true;
        if
        :: phase == queued -> phase = waiting; timesQueued--; event(true)
        :: else
        fi
    };
    checkReadiness();
    atomic { hasDependency = false; event(false) };
    checkReadiness();
#endif
    unfinishedThreads--
}

#ifdef CANCEL
proctype Canceller() {
    bool mustCheck, saysYes, wasReady;
    atomic { cancelled = true; event(false) };
    checkReadiness();
    unfinishedThreads--
}
#endif

init {
    atomic {
        unfinishedThreads = 4;
        run Changer(0, true, 3);
        run Changer(1, false, 4);
        run Enqueuer();
        run Dependency();
#ifdef CANCEL
        unfinishedThreads++;
        run Canceller()
#endif
    }
    unfinishedThreads == 0 && !isBuffered[0] && !isBuffered[1];
    /* The operation was queued once if it is ready in the end, or was found ready earlier.
     * Otherwise it waits. */
    assert(timesQueued <= 1);
    assert(phase == queued || phase == waiting);
    assert(!askAgain);
    assert((phase == queued) == (timesQueued == 1));
#ifdef OWN
    assert(timesQueued == 1 && !forced)
#else
    assert(!answer || timesQueued == 1)
#endif
}
