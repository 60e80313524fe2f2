/* Scopes: when a scope ends, what ends it early, and what happens to an operation that is added at
 * that moment. See ScopesAndWindows.md.
 *
 * Operation 0 is in the scope's queue, and may fail. Another thread adds operation 1. If the scope
 * ends early, operation 1 runs until it is cancelled. The task of the scope waits for the end.
 * Chosen by macros:
 *   DEADLINE  a timer, and not the body, records the failure of 0
 *   CANCEL    the task of the scope is cancelled at any time before the end
 *
 * One atomic step is one hold of the scope's lock or of the queue's lock, or one event of a
 * lifecycle state.
 *
 * Sources:
 *   Operations/Outcome/CancelRound.swift
 *   Operations/Structured/EarlyEnd.swift
 *   Operations/Structured/OperationQueue+AddingToCapacity.swift
 *   Operations/Structured/OperationQueue+Scope.swift
 *   Operations/Structured/QueueScope.swift
 */

mtype = { notAdded, ready, executing, finished };
mtype = { noEnding, byFailure, byTask };

/* The lifecycle states */
mtype phase[2];
bool  cancelled[2], cancellationPending[2], failed; /* only operation 0 fails */

/* The queue */
bool  inQueue[2];

/* QueueScope */
mtype ending = noEnding;
byte  additions;
bool  isOver;

/* Counters that the assertions check */
bool  comesAfterEnding;         /* operation 1 was announced after the ending */
bool  isEndingExcluded;         /* no ending can follow */
bool  isRefused;
byte  actors;

inline cancel(o) {
    atomic {
        if
        :: phase[o] != finished -> cancelled[o] = true
        :: else
        fi
    }
}

/* Ends the scope early. The first call counts, and cancels the operations in the queue except
 * `except`. */
inline end(why, except) {
#ifdef BREAK_LIST_FIRST         /* lists the operations before the ending is visible */
    atomic { toCancel[0] = inQueue[0] && except != 0; toCancel[1] = inQueue[1] }
#endif
    atomic {
        if
        :: ending == noEnding && !isOver -> ending = why; isFirst = true
        :: else
        fi
    }
    if
    :: isFirst ->
#ifndef BREAK_LIST_FIRST
        atomic { toCancel[0] = inQueue[0] && except != 0; toCancel[1] = inQueue[1] }
#endif
        if
        :: toCancel[0] -> cancellationPending[0] = true
        :: else
        fi;
        if
        :: toCancel[1] -> cancellationPending[1] = true
        :: else
        fi;
        if
        :: toCancel[0] -> cancel(0)
        :: else
        fi;
        if
        :: toCancel[1] -> cancel(1)
        :: else
        fi
    :: else
    fi;
    isFirst = false
}

/* The body, or a timer, reports that operation 0 has failed. */
inline fail() {
    atomic {
        if
        :: phase[0] != finished && !cancelled[0] &&
           (phase[0] == executing || !cancellationPending[0]) ->
            failed = true; notifies = true
        :: else
        fi
    }
    if
    :: notifies && phase[0] != finished -> end(byFailure, 0)    /* 0 is still in its queue */
    :: else
    fi
}

/* The body of an operation, and its end. */
proctype Work(byte o) {
    bool isFirst, toCancel[2], notifies;

    atomic {
        phase[o] == ready || (o == 1 && isRefused) ->
        if
        :: phase[o] != ready -> goto done
        :: cancelled[o] || cancellationPending[o] -> cancelled[o] = true
        :: else ->
            assert(o == 0 || !comesAfterEnding);
            phase[o] = executing
        fi
    }
    if
    :: phase[o] == executing && o == 1 -> (cancelled[1] || isEndingExcluded)
    :: else
    fi;
#ifndef DEADLINE
    if
    :: phase[o] == executing && o == 0 -> fail()
    :: true
    fi;
#endif
    phase[o] = finished;
#ifndef BREAK_NOTIFY            /* only the thread that records the failure notifies the scope */
    if
    :: o == 0 && failed -> end(byFailure, 0)
    :: else
    fi;
#endif
    atomic {
        inQueue[o] = false;
#ifndef CANCEL
        isEndingExcluded = (isEndingExcluded || (o == 0 && !failed))
#endif
    }
done:
    actors--
}

proctype Adder() {
    mtype seen;

    atomic {
        if
        :: isOver -> isRefused = true; phase[1] = finished
        :: else ->
            seen = ending;
            comesAfterEnding = (ending != noEnding);
#ifndef BREAK_ANNOUNCE          /* the scope does not count additions */
            additions++
#endif
        fi
    }
    if
    :: isRefused
    :: else ->
        if
        :: seen != noEnding -> cancel(1)
        :: else
        fi;
        atomic { assert(!isOver); inQueue[1] = true; phase[1] = ready }
        atomic {
            seen = ending;
#ifndef BREAK_ANNOUNCE
            additions--
#endif
        }
#ifndef BREAK_LOOK_AFTER        /* does not check for an ending after the addition */
        if
        :: seen != noEnding -> cancel(1)
        :: else
        fi
#endif
    fi;
    actors--
}

#ifdef DEADLINE
proctype Timer() {
    bool isFirst, toCancel[2], notifies;
    if
    :: phase[0] != finished -> fail(); cancel(0)
    :: true
    fi;
    actors--
}
#endif

#ifdef CANCEL
proctype Canceller() {
    bool isFirst, toCancel[2];
    end(byTask, 2);
    actors--
}
#endif

proctype Scope() {
    bool wasEmpty;
    do
    :: !inQueue[0] && !inQueue[1] ->
#ifdef BREAK_EMPTY              /* checks the queue first, and the additions later */
        wasEmpty = !inQueue[0] && !inQueue[1];
        isOver = (additions == 0 && wasEmpty);
#else
        atomic { wasEmpty = !inQueue[0] && !inQueue[1]; isOver = (additions == 0 && wasEmpty) }
#endif
        if
        :: isOver -> break
        :: else
        fi
    od;
    assert(!inQueue[0] && !inQueue[1]);
    assert(!failed || ending != noEnding);
    actors--
}

init {
    atomic {
        phase[0] = ready;
        phase[1] = notAdded;
        inQueue[0] = true;
        actors = 4;
        run Work(0);
        run Work(1);
        run Adder();
        run Scope();
#ifdef DEADLINE
        actors++;
        run Timer();
#endif
#ifdef CANCEL
        actors++;
        run Canceller()
#endif
    }
    /* The scope ends when all of its operations have ended. Operation 1 was added in time, or was
     * refused. */
    isOver && phase[0] == finished && phase[1] == finished;
    assert(!inQueue[0] && !inQueue[1] && additions == 0)
}
