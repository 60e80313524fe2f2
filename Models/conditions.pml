/* Conditions on edges: how the end of a dependency rejects a dependent.
 * DependencyEdges.md. Edges.swift, Operation+Dependencies.swift (connect, disconnect,
 * releaseSuccessors, detachFromDependencies), Rejection.swift, Operation+Outcome.swift (note, cancel).
 *
 * D waits in a queue for T, and, if the Linker comes in time, for U; each edge asks how its dependency
 * must end, and E asks how D must end. T and U end in any way, on threads of their own. Meanwhile, each
 * chosen by a macro of its own:
 *   REMOVE      the edge from T to D is taken away
 *   DOOM        D is cancelled without a word, together with its whole queue
 *   DEPENDENTS  T is cancelled with all that depends on it
 *
 * Who has a filed D in hands, and whose memory is there, is the business of finishing.pml: here a filed D
 * is taken by the worker at once, and all memory stays. One atomic step is one exchange of a word, or all
 * that is done in one hold of locks with no more than one such exchange that others could come before.
 */

#define T 0
#define U 1

mtype = { waiting, filed, executing, finished };        /* phases */
mtype = { always, onSuccess, onFailure };               /* conditions */
mtype = { succeeded, failed, cancelledAs };             /* how T and U end */
mtype = { nothing, aFailure, another };                 /* reasons for a cancellation */

/* T and U */
bool  isFinished[2], hasConditions[2];
mtype outcome[2];
bool  isCancelledT;
/* The edges to D: in the list of successors, and among D's dependencies */
bool  linked[2], listed[2];
mtype condition[2];

/* D's word */
mtype phase = waiting;
byte  count;
bool  cancelled, doomed, failedUpstream;
/* D's extras */
mtype reason = nothing;

/* E */
mtype conditionOfE;
bool  ranE, rejectedE;

/* What is counted to be checked */
bool  mustNotStart;             /* an edge has gone whose condition was not met */
bool  mustNotStartNow;          /* T, which it was found behind, has been cancelled */
byte  starts, actors;

#define isUnmet(i)   ((condition[i] == onSuccess && outcome[i] != succeeded) \
                      || (condition[i] == onFailure && outcome[i] != failed))

/* An event after which D may be ready; inside an atomic step. */
inline mayBeReady() {
    if
    :: phase == waiting && (count == 0 || cancelled) -> phase = filed
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

/* Says why D is about to be cancelled; the first reason counts. */
inline note(why) {
#ifdef BREAK_REASON             /* the word says something else than the reason */
    atomic {
        if
        :: why == aFailure && phase != executing && phase != finished && !cancelled && !doomed ->
            failedUpstream = true
        :: else
        fi
    }
#endif
    atomic {
        if
        :: !cancelled && reason == nothing ->
            reason = why;
#ifndef BREAK_REASON
            if
            :: why == aFailure && phase != finished -> failedUpstream = true
            :: why == aFailure && phase == finished -> reason = nothing
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

/* D does not start, because a dependency ended otherwise than it had to. */
inline reject(i) {
#ifndef BREAK_TOO_LATE          /* also one that had started before the edge came */
    if
    :: phase == executing
    :: else ->
#endif
        if
        :: outcome[i] == failed && condition[i] == onSuccess -> note(aFailure)
        :: else -> note(another)
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
        :: outcome[me] = cancelledAs
        fi;
        if
        :: me == T && isCancelledT -> outcome[me] = cancelledAs
        :: else
        fi
    }
    /* The edge is taken off the list. */
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
#ifdef BREAK_LOWER_FIRST        /* the count is lowered like any other, and D cancelled after that */
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
        listed[U] = true;
        if
        :: condition[U] = always
        :: condition[U] = onSuccess
        :: condition[U] = onFailure
        fi;
        if
        :: !isFinished[U] && phase != finished ->
            linked[U] = true;
#ifndef BREAK_FLAG              /* the flag comes when the lock is free */
            hasConditions[U] = (condition[U] != always);
#endif
            count++;
            if                  /* who has it in hands reads the word */
            :: phase == filed && !cancelled -> phase = waiting
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

/* A worker takes D when it is filed, and is the one that ends it. */
proctype Worker() {
    byte edge;
    bool unmet;

    atomic {
        phase == filed && (count == 0 || cancelled || doomed) ->
        if
        :: cancelled || doomed -> cancelled = true
        :: else ->
            assert(!mustNotStart && !mustNotStartNow);
            starts++;
            phase = executing
        fi
    }
    /* Its end: then its edges are taken out of the lists, and E is told. */
    phase = finished;
    do
    :: edge <= U ->
        atomic {
            if
            :: listed[edge] && linked[edge] -> linked[edge] = false; lower()
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
#ifdef BREAK_REMOVED            /* an edge that was taken off the list already lowers the count again */
        :: listed[T] ->
#else
        :: linked[T] ->
#endif
            linked[T] = false;
            lower()
        :: else
        fi;
        listed[T] = false;
        actors--
    }
}
#endif

#ifdef DOOM
proctype Canceller() {
    atomic {
        if
        :: phase != finished -> doomed = true
        :: else
        fi
    }
    cancelD();
    actors--
}
#endif

#ifdef DEPENDENTS
proctype Canceller() {
    bool found;
    atomic {
        if
        :: linked[T] && phase != finished && phase != executing ->
            found = true;
#ifndef BREAK_DOOM              /* each is cancelled when its turn comes, and not marked before */
            doomed = true
#endif
        :: else
        fi
    }
    if
    :: found -> note(another)
    :: else
    fi;
    atomic {
        if
        :: !isFinished[T] ->
            isCancelledT = true;
            mustNotStartNow = found && phase != executing && phase != finished
        :: else
        fi
    }
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
        listed[T] = true;
        if
        :: condition[T] = always
        :: condition[T] = onSuccess
        :: condition[T] = onFailure
        fi;
        hasConditions[T] = (condition[T] != always);
        if
        :: conditionOfE = onFailure
#if !defined(DOOM) && !defined(DEPENDENTS)
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
#if defined(DOOM) || defined(DEPENDENTS)
        actors++;
        run Canceller();
#endif
    }
    /* In the end D is over, and whoever depends on it goes by what its reason says. */
    actors == 0;
    assert(phase == finished && count == 0 && !linked[T] && !linked[U]);
    assert(cancelled || starts == 1);
    assert(!cancelled || failedUpstream == (reason == aFailure));
    assert(ranE != rejectedE);
    assert(conditionOfE == onSuccess || ranE == (cancelled && reason == aFailure))
}
