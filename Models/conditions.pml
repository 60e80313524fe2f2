/* Conditions on edges: how the end of a dependency cancels a dependent. See DependencyEdges.md.
 *
 * D waits in a queue for T and, if the Linker comes in time, for U. Each edge has a condition on
 * the end of its dependency, and E has a condition on the end of D. T and U end in any way, on
 * threads of their own. Each macro adds one thread:
 *   REMOVE      the edge from T to D is removed
 *   CANCEL_ALL  D is cancelled without a reason, together with its whole queue
 *   DEPENDENTS  T is cancelled together with all its dependents
 *
 * finishing.pml covers the owner of a queued D, and the lifetime of its memory. Here the worker
 * takes a queued D at once, and no memory is freed. One atomic step is one exchange of a lifecycle
 * state, or one hold of locks that contains at most one such exchange.
 *
 * Sources:
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Dependencies/Edges.swift
 *   Operations/Dependencies/Operation+Dependencies.swift
 *   Operations/Outcome/CancelRound.swift
 *   Operations/Outcome/DependencyCondition.swift
 *   Operations/Outcome/Operation+Cancelling.swift
 */

#define T 0
#define U 1

mtype = { waiting, queued, executing, finished };       /* phases */
mtype = { always, onSuccess, onFailure };               /* conditions */
mtype = { succeeded, failed, wasCancelled };            /* ends of T and U */
mtype = { noReason, dueToFailure, otherReason };        /* reasons for a cancellation */

/* T and U */
bool  isFinished[2], hasConditions[2];
mtype outcome[2];
bool  isCancelledT;
/* The edges to D: in the list of successors, and in D's list of dependencies */
bool  linked[2], dependsOn[2];
mtype condition[2];

/* D's lifecycle state */
mtype phase = waiting;
byte  count;
bool  cancelled, cancellationPending, failedUpstream;
/* D's extras */
mtype reason = noReason;

/* E */
mtype conditionOfE;
bool  ranE, rejectedE;

/* Counters that the assertions check */
bool  mustNotStart;             /* an edge with an unmet condition came off the list */
bool  mustNotStartNow;          /* T was cancelled with D among its dependents */
byte  starts, actors;

#define isUnmet(i)   ((condition[i] == onSuccess && outcome[i] != succeeded) \
                      || (condition[i] == onFailure && outcome[i] != failed))

/* An event after which D may be ready. Part of an atomic step. */
inline mayBeReady() {
    if
    :: phase == waiting && (count == 0 || cancelled) -> phase = queued
    :: else
    fi
}

inline lower() {
    assert(count > 0);
    count--;
    if
    :: count == 0 -> mayBeReady()
    :: else
    fi
}

/* Records the reason why D is about to be cancelled. The first reason counts. */
inline recordReason(why) {
#ifdef BREAK_REASON             /* the flag disagrees with the reason */
    atomic {
        if
        :: why == dueToFailure && phase != executing && phase != finished && !cancelled &&
           !cancellationPending ->
            failedUpstream = true
        :: else
        fi
    }
#endif
    atomic {
        if
        :: !cancelled && reason == noReason ->
            reason = why;
#ifndef BREAK_REASON
            if
            :: why == dueToFailure && phase != finished -> failedUpstream = true
            :: why == dueToFailure && phase == finished -> reason = noReason
            :: else
            fi
#endif
        :: else
        fi
    }
}

inline cancelD() {
    atomic {
        if
        :: phase != finished && !cancelled -> cancelled = true; mayBeReady()
        :: else
        fi
    }
}

/* Cancels D, because the condition on a dependency is unmet. */
inline reject(i) {
#ifndef BREAK_TOO_LATE          /* also cancels a D that began before the edge was linked */
    if
    :: phase == executing
    :: else ->
#endif
        if
        :: outcome[i] == failed && condition[i] == onSuccess -> recordReason(dueToFailure)
        :: else -> recordReason(otherReason)
        fi;
        assert(!(isTooLate && phase == executing));
        cancelD()
#ifndef BREAK_TOO_LATE
    fi
#endif
}

proctype Finish(byte me) {
    bool rejects, isTooLate;

    atomic {
        isFinished[me] = true;
        if
        :: outcome[me] = succeeded
        :: outcome[me] = failed
        :: outcome[me] = wasCancelled
        fi;
        if
        :: me == T && isCancelledT -> outcome[me] = wasCancelled
        :: else
        fi
    }
    /* The edge comes off the list. */
    atomic {
        if
        :: linked[me] ->
            linked[me] = false;
            if
            :: isUnmet(me) && phase != executing -> mustNotStart = true
            :: else
            fi;
            rejects = hasConditions[me] && isUnmet(me);
            isTooLate = (phase == executing);
#ifdef BREAK_LOWER_FIRST        /* lowers the count first, and then cancels D */
            lower()
#else
            if
            :: rejects
            :: else -> lower()
            fi
#endif
        :: else
        fi
    }
    if
    :: rejects ->
        reject(me);
#ifndef BREAK_LOWER_FIRST
        atomic { lower() }
#endif
    :: else
    fi;
    actors--
}

/* Adds the edge from U, late. */
proctype Linker() {
    bool rejects, isTooLate;

    atomic {
        dependsOn[U] = true;
        if
        :: condition[U] = always
        :: condition[U] = onSuccess
        :: condition[U] = onFailure
        fi;
        if
        :: !isFinished[U] && phase != finished ->
            linked[U] = true;
#ifndef BREAK_FLAG              /* the flag is set after the lock was released */
            hasConditions[U] = (condition[U] != always);
#endif
            count++;
            if                  /* a thread that owns D reads the state */
            :: phase == queued && !cancelled -> phase = waiting
            :: else
            fi
        :: else ->
            rejects = isFinished[U] && isUnmet(U);
            isTooLate = (phase == executing)
        fi
    }
    if
    :: rejects -> reject(U)
    :: else
#ifdef BREAK_FLAG
        -> hasConditions[U] = (linked[U] && condition[U] != always)
#endif
    fi;
    actors--
}

/* A worker takes D when D is queued, and ends D. */
proctype Worker() {
    byte edge;
    bool unmet;

    atomic {
        phase == queued && (count == 0 || cancelled || cancellationPending) ->
        if
        :: cancelled || cancellationPending -> cancelled = true
        :: else ->
            assert(!mustNotStart && !mustNotStartNow);
            starts++;
            phase = executing
        fi
    }
    /* The end of D: its edges come off the lists, then E is notified. */
    phase = finished;
    do
    :: edge <= U ->
        atomic {
            if
            :: dependsOn[edge] && linked[edge] -> linked[edge] = false; lower()
            :: else
            fi;
            edge++
        }
    :: else -> break
    od;
    atomic {
        unmet = ((conditionOfE == onSuccess && cancelled)
                 || (conditionOfE == onFailure && !(cancelled && failedUpstream)));
        rejectedE = unmet;
        ranE = !unmet;
        actors--
    }
}

#ifdef REMOVE
proctype Remover() {
    atomic {
        if
#ifdef BREAK_REMOVED            /* lowers the count even if the edge was off the list */
        :: dependsOn[T] ->
#else
        :: linked[T] ->
#endif
            linked[T] = false;
            lower()
        :: else
        fi;
        dependsOn[T] = false;
        actors--
    }
}
#endif

#ifdef CANCEL_ALL
proctype Canceller() {
    atomic {
        if
        :: phase != finished -> cancellationPending = true
        :: else
        fi
    }
    cancelD();
    actors--
}
#endif

#ifdef DEPENDENTS
/* The cancellation of T is announced: a T on the fast path may leave from now on. */
inline announceT() {
    atomic {
        if
        :: !isFinished[T] ->
            isCancelledT = true;
            mustNotStartNow = found && phase != executing && phase != finished
        :: else
        fi
    }
}

proctype Canceller() {
    bool found;
    atomic { found = linked[T] && phase != finished && phase != executing }
    if
    :: found -> recordReason(otherReason)
    :: else
    fi;
#ifdef BREAK_MARK_ORDER         /* T is marked before D, which waits for it */
    announceT();
#endif
    atomic {
        if
#ifndef BREAK_PENDING           /* marks no operation before the first is cancelled */
        :: found && phase != finished -> cancellationPending = true
#endif
        :: else
        fi
    }
#ifndef BREAK_MARK_ORDER
    announceT();
#endif
    if
    :: found -> cancelD()
    :: else
    fi;
    actors--
}
#endif

init {
    atomic {
        linked[T] = true;
        dependsOn[T] = true;
        if
        :: condition[T] = always
        :: condition[T] = onSuccess
        :: condition[T] = onFailure
        fi;
        hasConditions[T] = (condition[T] != always);
        if
        :: conditionOfE = onFailure
#if !defined(CANCEL_ALL) && !defined(DEPENDENTS)
        :: conditionOfE = onSuccess
#endif
        fi;
        count = 1;
        actors = 4;
        run Finish(T);
        run Finish(U);
        run Linker();
        run Worker();
#ifdef REMOVE
        actors++;
        run Remover();
#endif
#if defined(CANCEL_ALL) || defined(DEPENDENTS)
        actors++;
        run Canceller();
#endif
    }
    /* In the end D has finished, and E decides by D's reason. */
    actors == 0;
    assert(phase == finished && count == 0 && !linked[T] && !linked[U]);
    assert(cancelled || starts == 1);
    assert(!cancelled || failedUpstream == (reason == dueToFailure));
    assert(ranE != rejectedE);
    assert(conditionOfE == onSuccess || ranE == (cancelled && reason == dueToFailure))
}
