/* Dependents in open transactions: a job, its dependent, which an application stores in a
 * transaction of its own, a worker that ends the job, two workers whose background steps look for
 * the mark `unchecked`, and a worker that moves ended jobs to the archive. See "Transactions of the
 * program" in Protocol.md of DurableJobs.
 *
 * The application's transaction may stay open for any time, be committed or rolled back. A worker
 * may stop in the middle of a transaction, which the database then rolls back. In every order, the
 * dependent becomes available once, after the end of its dependency, if and only if the application
 * has committed; and the dependency is not moved away while the dependent needs it.
 *
 * One atomic step is one statement on one row, or a commit. A statement that changes a row waits for
 * the transaction that has changed it, and then sees what that one has committed. Other statements
 * see what is committed when they begin.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Enqueueing.swift
 *   DurableJobs/Store/JobStore+Exchanging.swift
 *   DurableJobs/Store/JobStore+Resolving.swift
 *   DurableJobs/Store/JobStore+History.swift
 */

/* The row of the dependency, as it is committed */
bool  hasEnded, isMarked, isGone;
/* The transaction that has changed it, and whether one keeps it from being deleted */
byte  changer;
bool  isKept;

/* The dependent and its edge, as they are committed */
bool  isStored, isUnchecked, isResolved;
byte  pending = 1;
bool  isAvailable;
/* The transaction that has changed the edge and the dependent */
byte  edgeChanger;

#ifdef BREAK_PRUNE              /* the archive asks for no edge */
#define needsJob false
#else
#define needsJob (isStored && !isResolved)
#endif

bool  isRolledBack;
byte  crashes;

/* Waits for the row, and locks it until `commit` or `rollBack`. */
inline lockJob(me)  { atomic { changer == 0 -> changer = me } }
inline lockEdge(me) { atomic { edgeChanger == 0 -> edgeChanger = me } }

/* A transaction that resolves the edge. The statement finds no edge that is not committed. */
inline resolve(me) {
    if
    :: atomic { isStored -> skip };
        lockEdge(me);
#ifdef BREAK_TWICE              /* does not ask whether the edge is resolved already */
        resolves = true
#else
        resolves = !isResolved
#endif
    :: atomic { !isStored -> skip }
    fi
}

inline commitResolution() {
    if
    :: resolves ->
        isResolved = true;
        assert(pending > 0);    /* the dependent counts each dependency once */
        pending--;
        if
        :: pending == 0 ->
            assert(hasEnded && !isAvailable);
            isAvailable = true
        :: else
        fi
    :: else
    fi
}

inline unlock(me) {
    if
    :: changer == me -> changer = 0
    :: else
    fi;
    if
    :: edgeChanger == me -> edgeChanger = 0
    :: else
    fi
}

inline mayCrash(me) {
    if
    :: atomic { crashes < 1 -> crashes++; unlock(me); resolves = false; goto start }
    :: skip
    fi
}

/* Stores a dependent. The lock of the dependency excludes only its deletion. */
proctype Application() {
    bool hasSeenEnd, isFound;
    atomic {
        isFound = !isGone;
        hasSeenEnd = hasEnded;
#ifndef BREAK_KEEP              /* only reads the dependency */
        isKept = true
#endif
    };
    if
    :: !isFound ->              /* the archive has it: it has ended */
        hasSeenEnd = true
    :: else
    fi;
    if
    :: atomic {
            isStored = true;
            isResolved = hasSeenEnd;
            pending = (hasSeenEnd -> 0 : 1);
            isAvailable = hasSeenEnd;
#ifndef BREAK_MARK              /* stores no mark */
            isUnchecked = !hasSeenEnd;
#endif
            isKept = false
        }
    :: atomic { isRolledBack = true; isKept = false }
    fi
}

/* Ends the dependency, and looks for edges if it has the mark. */
proctype Ender(byte me) {
    bool resolves, looks;
start:
    lockJob(me);
    looks = isMarked;
    mayCrash(me);
    if
    :: looks -> resolve(me)
    :: else
    fi;
    mayCrash(me);
    atomic { hasEnded = true; commitResolution(); unlock(me) }
}

/* Looks for a dependent with the mark, and checks its dependency. */
proctype Checker(byte me) {
    bool resolves, ended, isFound;
start:
    atomic { isUnchecked || isRolledBack || (isStored && !isUnchecked) -> skip };
    if
    :: !isUnchecked -> goto done
    :: else
    fi;
#ifdef BREAK_LOOK_FIRST         /* looks for the end before it has the lock */
    ended = hasEnded;
    lockJob(me);
    isFound = !isGone;
#else
    lockJob(me);
    isFound = !isGone;
    ended = hasEnded;
#endif
    assert(isFound || isResolved);      /* the edge is not lost with the dependency */
    mayCrash(me);
    if
    :: ended -> resolve(me)
    :: else
    fi;
    mayCrash(me);
    atomic {
        isMarked = true;
        isUnchecked = false;
        commitResolution();
        unlock(me)
    };
done:
    skip
}

/* Moves the dependency to the archive, if it has ended and no edge needs it. */
proctype Pruner(byte me) {
    if
    :: atomic {
            hasEnded && changer == 0 && !isKept && !needsJob -> isGone = true
        }
    :: skip
    fi
}

init {
    atomic {
        run Application();
        run Ender(1);
        run Checker(2);
        run Checker(3);
        run Pruner(4)
    };
    _nr_pr == 1;
    assert(changer == 0 && edgeChanger == 0 && !isKept);
    assert(isStored == isAvailable);
    assert(!isUnchecked && (!isStored || isResolved))
}
