/* Finishing: the end of an operation, while other threads wait for it, link to it or release it.
 * See LifecycleStates.md, DependencyEdges.md, Finishing.md and Lifetimes.md.
 *
 * Two dependencies, T and U, finish on threads of their own. D depends on T from the beginning and,
 * if the Linker comes in time, on U. The owner of D enqueues D or releases it. Each macro adds one
 * thread or two (one macro at a time keeps the searches small):
 *   WAITERS   a thread waits for T, and another sets a completion block of T
 *   CANCEL    D is cancelled
 *   FOREIGN   D is a subclass that reports its own end, in any phase
 *   REMOVE    the edge from T to D is removed
 *   KEEP      E, which depends on D, is cancelled and finishes early, so D may release its
 *             dependencies
 *
 * One atomic step is one compare-and-swap of a lifecycle state, or touches only data that a held
 * lock guards. `touch` stands before each access to the memory of D.
 *
 * Sources:
 *   Operations/Lifecycle/LifecycleState.swift
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Lifecycle/Operation+LifeCycle.swift
 *   Operations/Lifecycle/Operation+FastPath.swift
 *   Operations/Lifecycle/Operation+Transitions.swift
 *   Operations/Dependencies/Edges.swift
 *   Operations/Dependencies/EdgeCount.swift
 *   Operations/Dependencies/Operation+Dependencies.swift
 *   Operations/Waiting/Operation+Finished.swift
 */

#include "finishing-state.pml"

/* T or U finishes. */
proctype Finish(byte me) {
    bool hadSuccessors, hadEndObservers, wakesWaiter, isOwner, goesIn, isLast, runs;
    byte edge;

    /* 1. The state becomes finished, while its lock bit is free. */
    atomic {
#ifdef BREAK_LOCKFREE_FINISH
        true ->
#else
        !locked[me] ->
#endif
        isFinished[me] = true;
        hadSuccessors = hasSuccessors[me];
        hadEndObservers = hasEndObservers[me]
    }

    /* 3. The thread wakes the waiter. (Step 2 belongs to the queue: see claim.pml.) */
    if
    :: hadEndObservers ->
        lock(locked[me]);
        atomic {
            wakesWaiter = waiterIsRegistered;
            waiterIsRegistered = false;
            unlock(locked[me])
        }
        if
        :: wakesWaiter -> atomic { posts++; semaphore++ }
        :: else
        fi
    :: else
    fi;

    /* Then the dependents: the thread takes each edge off the list, and lowers the count of the
     * dependent by one. */
    if
    :: hadSuccessors ->
        lock(locked[me]);
        if
        :: linked[me] ->
            touch;              /* the edge is in the memory of D */
            linked[me] = false;
#ifdef BREAK_WALK_LOCK          /* the lock is released before the dependent is touched */
            unlock(locked[me]);
#endif
            atomic {
                touch;
                assert(count > 0 || phase == finished);
                lowered[me]++;
                assert(lowered[me] == 1);
                if
                :: count > 0 -> count--
                :: else
                fi;
                if
                :: count == 0 && phase == waiting -> becomeQueued(); isOwner = true
                :: else
                fi
            }
            if
            :: isOwner -> atomic { touch; references++ }
            :: else
            fi
        :: else
        fi;
#ifdef BREAK_WALK_LOCK
        locked[me] = false;
#else
        unlock(locked[me]);
#endif
        if
        :: isOwner -> putIntoReadyQueue(); releaseD()
        :: else
        fi
    :: else
    fi;

    /* 4. The thread takes the completion block out, and runs it. */
    if
    :: hadEndObservers ->
        lock(locked[me]);
        atomic {
            runs = (me == T && hasCompletion);
            hasCompletion = (me == T -> false : hasCompletion);
            unlock(locked[me])
        }
        if
        :: runs -> completionsRun++
        :: else
        fi
    :: else
    fi;
    atomic {
        if
        :: me == T -> releaseT()
        :: else
        fi
    }
}

/* Adds a dependency late. */
proctype Linker() {
    bool isCounted, wasQueued, isLast;
    byte edge;

    lock(locked[U]);
    lock(lockedD);
    atomic {
        if
        :: !isFinished[U] && phase != executing && phase != finished ->
            touch;
            isCounted = true;
            wasQueued = (phase == queued);
            count++;
#ifdef BREAK_LATE_DEPENDENCY  /* a queued dependent waits again at once, although it has an owner */
            if
            :: wasQueued -> phase = waiting
            :: else
            fi
#endif
        :: else
        fi
    }
    if
    :: isCounted ->
        atomic { dependsOn[U] = true; linked[U] = true; hasSuccessors[U] = true; linksMade[U]++ }
    :: else
    fi;
    atomic { unlock(lockedD); unlock(locked[U]) }

    /* Takes D off the ready queue. If D is not there, its owner reads the state. */
    if
    :: wasQueued ->
        lock(queueLocked);
        if
        :: inReadyQueue ->
            atomic {
                touch;
                if
                :: mustWaitAgain -> phase = waiting; owners--; inReadyQueue = false
                :: else
                fi
            }
        :: else
        fi;
        unlock(queueLocked)
    :: else
    fi;
    releaseD();
    actors--
}

/* The thread that made D enqueues D or releases it. */
proctype Owner() {
    bool isOwner, goesIn, isLast;
    byte edge;
    if
    :: true ->
        lock(queueLocked);
        /* ring slot and phase in one hold: the thread that makes D queued must find it in the
         * ring */
        atomic {
            if
            :: phase == created ->
                references++;
                inRing = true;
                phase = waiting;
                if
                :: count == 0 || cancelled -> becomeQueued(); isOwner = true
                :: else
                fi
            :: else
            fi;
            unlock(queueLocked)
        }
        if
        :: isOwner -> putIntoReadyQueue()
        :: else
        fi
    :: wasAbandoned = true
    fi;
    releaseD();
    actors--
}

/* A worker takes D from the ready queue. */
active proctype Worker() {
    bool hasTaken, isFirst, isLast, runs;
    byte edge;
end_idle:
    do
    :: atomic { inReadyQueue && !queueLocked -> queueLocked = true };
        if
        :: inReadyQueue ->
            atomic {
                inReadyQueue = false;
                hasTaken = true;
#ifndef BREAK_CLAIM             /* the worker relies on the ring's reference */
                references++;
#endif
            }
        :: else
        fi;
        unlock(queueLocked);
        if
        :: hasTaken ->
            hasTaken = false;
            atomic {
                touch;
                owners--;
                if
                :: mustWaitAgain -> phase = waiting
                :: phase == queued && !mustWaitAgain -> phase = executing; starts++; runs = true
                :: else
                fi;
                assert(!runs || count == 0 || cancelled);
                assert(starts <= 1)
            }
            if
            :: runs -> runs = false; finishD()
            :: else
            fi;
#ifndef BREAK_CLAIM
            releaseD()
#endif
        :: else
        fi
    od
}

#ifdef WAITERS
proctype Waiter() {
    bool registers;
    lock(locked[T]);
#ifdef BREAK_WAITER             /* the check comes before the lock */
    unlock(locked[T]);
    registers = !isFinished[T];
    lock(locked[T]);
#else
    registers = !isFinished[T];
#endif
    atomic {
        if
        :: registers -> waiterIsRegistered = true; hasEndObservers[T] = true
        :: else
        fi;
        unlock(locked[T])
    }
    if
    :: registers -> atomic { semaphore > 0 -> semaphore-- }
    :: else
    fi;
    assert(isFinished[T]);
    actors--
}

proctype CompletionSetter() {
    lock(locked[T]);
    atomic {
        if
        :: !isFinished[T] -> hasCompletion = true; hasEndObservers[T] = true; completionsSet++
        :: else
        fi;
        unlock(locked[T])
    }
    actors--
}
#endif

#ifdef CANCEL
proctype Canceller() {
    bool isOwner, goesIn, isLast;
    byte edge;
    atomic {
        touch;
        if
        :: phase != finished -> cancelled = true
        :: else
        fi;
        if
        :: phase == waiting -> becomeQueued(); isOwner = true
        :: else  /* queued: D only moves to the cancelled list, if it is in the ready queue */
        fi
    }
    if
    :: isOwner -> putIntoReadyQueue()
    :: else
    fi;
    releaseD();
    actors--
}
#endif

#ifdef FOREIGN
proctype Subclass() {
    bool isFirst, isLast;
    byte edge;
    if
    :: phase != created -> finishD()
    :: wasAbandoned             /* never enqueued: D has no end */
    fi;
    releaseD();
    actors--
}
#endif

#ifdef REMOVE
proctype Remover() {
    bool isOwner, goesIn, isLast;
    byte edge;
    lock(locked[T]);
    lock(lockedD);
    if
    :: linked[T] ->
        atomic {
            touch;
            linked[T] = false;
            dependsOn[T] = false;
            lowered[T]++;
            assert(lowered[T] == 1 && count > 0);
            count--;
            if
            :: count == 0 && phase == waiting -> becomeQueued(); isOwner = true
            :: else
            fi
        }
    :: else
    fi;
    atomic { unlock(lockedD); unlock(locked[T]) };
    if
    :: isOwner -> putIntoReadyQueue()
    :: else
    fi;
    releaseD();
    actors--
}
#endif

#ifdef KEEP
/* When E has finished, D need not retain its dependencies, if D has finished and is detached. */
proctype EarlyDependent() {
    bool isLast;
    byte edge;
    lock(lockedD);
    atomic {
        touch;
        if
#ifdef BREAK_KEEP               /* even if D has not finished */
        :: true -> stopRetainingT()
#else
        :: isDetached -> stopRetainingT()
        :: else
#endif
        fi;
        unlock(lockedD)
    }
    releaseD();
    actors--
}
#endif

init {
    atomic {
        /* The owner of D made the first edge. */
        dependsOn[T] = true;
        linked[T] = true;
        hasSuccessors[T] = true;
        linksMade[T] = 1;
        count = 1;
        references = 2;
        actors = 2;
        run Finish(T);
        run Finish(U);
        run Linker();
        run Owner();
#ifdef WAITERS
        actors = actors + 2;
        run Waiter();
        run CompletionSetter();
#endif
#ifdef CANCEL
        references++;
        actors++;
        run Canceller();
#endif
#ifdef FOREIGN
        references++;
        actors++;
        run Subclass();
#endif
#ifdef REMOVE
        references++;
        actors++;
        run Remover();
#endif
#ifdef KEEP
        references++;
        actors++;
        run EarlyDependent();
#endif
    }
    /* In the end every thread was notified, D has finished if it was enqueued, and no thread holds
     * D. */
    actors == 0 && isFinished[T] && isFinished[U] && freed;
    timeout;
    atomic {
        assert(posts <= 1 && semaphore == 0 && !waiterIsRegistered);
        assert(completionsRun == completionsSet);
        assert(phase == created || phase == finished);
        assert(!inRing && !inReadyQueue && owners == 0);
        assert(!linked[T] && !linked[U]);
        assert(freedT);
        /* Each edge lowered the count once, unless an early end of D removed the edge. */
        assert(starts == 0 || cancelled || lowered[T] + lowered[U] == linksMade[T] + linksMade[U])
    }
}
