/* Handlers of failures: an operation P of a scope fails, D depends on the success of P, and H runs on
 * the failure of D. The body of the scope adds D and H meanwhile, and returns. In every order, the
 * scope finds that H handles the failure, and does not end early. See ScopesAndWindows.md.
 *
 * The threads are the worker that runs P, the body, and the worker that ends D.
 *
 * One atomic step is one hold of an operation's lock, or of the scope's lock.
 *
 * Sources:
 *   Operations/Dependencies/Operation+Dependencies.swift
 *   Operations/Outcome/FailureRecord.swift
 *   Operations/Outcome/UnmetCondition.swift
 *   Operations/Structured/QueueScope.swift
 */

/* P and D: have finished, have the failure */
bool  hasEnded[2], hasFailure[2];
bool  isCancelled;              /* D */
/* The edges in the lists of successors, and the list of dependencies of D */
bool  isLinkedToD, isLinkedToH, dependsOnP;

/* FailureRecord */
bool  isHandled;

/* QueueScope */
bool  isUndecided, hasReturned;
bool  hasEndedEarly;
byte  actors = 3;

#define P 0
#define D 1

/* From P along the edges to dependents; sets `finds`. */
inline lookForward() {
    finds = false;
    atomic { toD = isLinkedToD && !isCancelled };
    if
    :: toD -> atomic { finds = isLinkedToH }
    :: else
    fi
}

/* D is cancelled because of P. The failure is noted first. */
inline cancelD() {
#ifdef BREAK_NOTE               /* notes the failure after the cancellation */
    isCancelled = true;
    hasFailure[D] = true
#else
    hasFailure[D] = true;
    isCancelled = true
#endif
}

proctype WorkerOfP() {
    bool finds, toD, decides;

    atomic { hasFailure[P] = true };
#ifdef BREAK_LOOK_FIRST         /* looks for handlers before the failure is known as undecided */
    lookForward();
#endif
    atomic {
        if
        :: hasReturned -> decides = true
        :: else -> isUndecided = true
        fi
    };
#ifndef BREAK_LOOK_FIRST
    lookForward();
#endif
    if
    :: finds -> isHandled = true
    :: !finds && decides -> hasEndedEarly = true
    :: else
    fi;
    /* P ends, and its edges disappear. */
    atomic { hasEnded[P] = true; toD = isLinkedToD; isLinkedToD = false };
    if
    :: toD -> cancelD()
    :: else
    fi;
    actors--
}

proctype Body() {
    bool finds, toD, looks, isTaken, sees;

    /* Adds D. */
    atomic {
        dependsOnP = true;
        if
        :: hasEnded[P] -> finds = true
        :: else -> isLinkedToD = true
        fi
    };
    if
    :: finds -> cancelD()
    :: else
    fi;
    /* Adds H. */
    atomic {
        if
        :: hasEnded[D] -> isHandled = true  /* H runs */
        :: else -> isLinkedToH = true
        fi
    };
    atomic { looks = isUndecided };
#ifdef BREAK_LOOK_BACK          /* does not look for failures */
    looks = false;
#endif
    if
    :: looks ->
        atomic { sees = hasFailure[D] };
        if
        :: sees -> isHandled = true
        :: else ->
            atomic { toD = dependsOnP };
            if
            :: toD ->
                atomic { sees = hasFailure[P] };
                if
                :: sees -> isHandled = true
                :: else
                fi
            :: else
            fi
        fi
    :: else
    fi;
    /* Returns, and decides. */
    atomic { hasReturned = true };
    atomic { isTaken = isUndecided; isUndecided = false };
    if
    :: isTaken ->
#ifdef BREAK_DECIDE             /* does not look once more */
        finds = false;
        sees = isHandled;
#else
#ifdef BREAK_FLAG_FIRST         /* reads the flag before it looks */
        sees = isHandled;
        lookForward();
#else
        lookForward();
        sees = isHandled;
#endif
#endif
        if
        :: !finds && !sees -> hasEndedEarly = true
        :: else
        fi
    :: else
    fi;
    actors--
}

proctype WorkerOfD() {
    isCancelled;
    /* D ends; H runs, because D has the failure. */
    atomic {
        hasEnded[D] = true;
        if
        :: isLinkedToH -> assert(hasFailure[D]); isLinkedToH = false; isHandled = true
        :: else
        fi
    };
    actors--
}

init {
    atomic { run WorkerOfP(); run Body(); run WorkerOfD() };
    actors == 0;
    assert(!hasEndedEarly);
    assert(isHandled)
}
