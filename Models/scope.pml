/* Scopes: when a scope is over, what ends it early, and what is added at that moment.
 * ScopesAndWindows.md. QueueScope.swift,
 * OperationQueue+Scheduling.swift (tryEnqueue), Operation+Outcome.swift (fail), Operation+LifeCycle.swift
 * (finish).
 *
 * Operation 0 is in the scope's queue, and may fail; some other thread adds operation 1, which, if an ending
 * comes, goes on until it is cancelled. The task of the scope waits for the end. Chosen by macros:
 *   DEADLINE  the failure of 0 is taken down by a timer, and not by its own work
 *   CANCEL    the task of the scope is cancelled at any time before that
 *
 * One atomic step is one hold of the scope's lock or of the queue's, or one event of an operation's word.
 */

mtype = { away, ready, executing, finished };
mtype = { noEnding, byFailure, byTask };

/* The words */
mtype phase[2];
bool  cancelled[2], doomed[2], failed;          /* it is 0 that fails */

/* The queue */
bool  inQueue[2];

/* QueueScope */
mtype ending = noEnding;
byte  additions;
bool  isOver;

/* What is counted to be checked */
bool  comesAfterEnding;         /* operation 1 was announced after the ending */
bool  isQuiet;                  /* no ending comes any more */
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

/* Ends the scope early; the first does. It cancels what is in the queue, but for `except`. */
inline end(why, except) {
#ifdef BREAK_LIST_FIRST         /* the list is made before the ending can be seen */
    atomic { listed[0] = inQueue[0] && except != 0; listed[1] = inQueue[1] }
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
        atomic { listed[0] = inQueue[0] && except != 0; listed[1] = inQueue[1] }
#endif
        if
        :: listed[0] -> doomed[0] = true
        :: else
        fi;
        if
        :: listed[1] -> doomed[1] = true
        :: else
        fi;
        if
        :: listed[0] -> cancel(0)
        :: else
        fi;
        if
        :: listed[1] -> cancel(1)
        :: else
        fi
    :: else
    fi;
    isFirst = false
}

/* The work, or a timer, says that operation 0 has come to an error. */
inline fail() {
    atomic {
        if
        :: phase[0] != finished && !cancelled[0] && (phase[0] == executing || !doomed[0]) ->
            failed = true; tells = true
        :: else
        fi
    }
    if
    :: tells && phase[0] != finished -> end(byFailure, 0)       /* it is still in its queue */
    :: else
    fi
}

/* An operation's work, and its end. */
proctype Work(byte o) {
    bool isFirst, listed[2], tells;

    atomic {
        phase[o] == ready || (o == 1 && isRefused) ->
        if
        :: phase[o] != ready -> goto done
        :: cancelled[o] || doomed[o] -> cancelled[o] = true
        :: else ->
            assert(o == 0 || !comesAfterEnding);
            phase[o] = executing
        fi
    }
    if
    :: phase[o] == executing && o == 1 -> (cancelled[1] || isQuiet)
    :: else
    fi;
#ifndef DEADLINE
    if
    :: phase[o] == executing && o == 0 -> fail()
    :: true
    fi;
#endif
    phase[o] = finished;
#ifndef BREAK_TOLD              /* only who takes the failure down tells the scope of it */
    if
    :: o == 0 && failed -> end(byFailure, 0)
    :: else
    fi;
#endif
    atomic {
        inQueue[o] = false;
#ifndef CANCEL
        isQuiet = (isQuiet || (o == 0 && !failed))
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
#ifndef BREAK_ANNOUNCE          /* the scope does not know that an addition is under way */
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
#ifndef BREAK_LOOK_AFTER        /* nobody looks whether the scope has ended meanwhile */
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
    bool isFirst, listed[2], tells;
    if
    :: phase[0] != finished -> fail(); cancel(0)
    :: true
    fi;
    actors--
}
#endif

#ifdef CANCEL
proctype Canceller() {
    bool isFirst, listed[2];
    end(byTask, 2);
    actors--
}
#endif

proctype Scope() {
    bool wasEmpty;
    do
    :: !inQueue[0] && !inQueue[1] ->
#ifdef BREAK_EMPTY              /* the queue is looked at before, and the additions after */
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
        phase[1] = away;
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
    /* It is over when all that came into it is; operation 1 was in time, or was refused. */
    isOver && phase[0] == finished && phase[1] == finished;
    assert(!inQueue[0] && !inQueue[1] && additions == 0)
}
