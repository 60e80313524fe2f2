/* Finishing: the end of an operation against everybody who wants to know of it.
 * LifecycleStates.md, DependencyEdges.md, Finishing.md and Lifetimes.md.
 *
 * Two dependencies, T and U, finish on threads of their own. D depends on T from the beginning and, if
 * the Linker comes in time, on U. Its owner puts D into a queue or lets go of it. Meanwhile, each chosen
 * by a macro of its own to keep the searches small:
 *   WAITERS   a thread waits for T, another gives T a completion block
 *   CANCEL    D is cancelled
 *   FOREIGN   D, a subclass, reports by itself that it has finished, whatever its phase
 *   REMOVE    the edge from T to D is taken away
 *   KEEP      E, which depends on D, is cancelled and finishes early, so D's dependencies may be let go of
 *
 * One atomic step is one compare-and-swap of a word, or touches only what the held lock protects.
 * `touch` stands before every look into D's memory.
 */

#include "finishing-state.pml"

/* T or U finishes. */
proctype Finish(byte me) {
    bool hadSuccessors, hadAudience, toldWaiter, isMine, goesIn, isLast, runs;
    byte edge;

    /* 1. The word becomes finished, while its lock is free. */
    atomic {
#ifdef BREAK_LOCKFREE_FINISH
        true ->
#else
        !locked[me] ->
#endif
        isFinished[me] = true;
        hadSuccessors = hasSuccessors[me];
        hadAudience = hasAudience[me]
    }

    /* 3. Waiters are told. (2 is the queue's business: see batch.pml.) */
    if
    :: hadAudience ->
        take(locked[me]);
        atomic {
            toldWaiter = waiterIsRegistered;
            waiterIsRegistered = false;
            leave(locked[me])
        }
        if
        :: toldWaiter -> atomic { posts++; semaphore++ }
        :: else
        fi
    :: else
    fi;

    /* Then the dependents: edges are taken off, each dependent's count is lowered by one. */
    if
    :: hadSuccessors ->
        take(locked[me]);
        if
        :: linked[me] ->
            touch;              /* the edge lies in D's memory */
            linked[me] = false;
#ifdef BREAK_WALK_LOCK          /* the lock is let go of before the dependent is touched */
            leave(locked[me]);
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
                :: count == 0 && phase == waiting -> file(); isMine = true
                :: else
                fi
            }
            if
            :: isMine -> atomic { touch; references++ }
            :: else
            fi
        :: else
        fi;
#ifdef BREAK_WALK_LOCK
        locked[me] = false;
#else
        leave(locked[me]);
#endif
        if
        :: isMine -> bring(); release()
        :: else
        fi
    :: else
    fi;

    /* 4. The completion block is taken out and run. */
    if
    :: hadAudience ->
        take(locked[me]);
        atomic {
            runs = (me == T && hasCompletion);
            hasCompletion = (me == T -> false : hasCompletion);
            leave(locked[me])
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

/* A dependency added late. */
proctype Linker() {
    bool isCounted, wasFiled, isLast;
    byte edge;

    take(locked[U]);
    take(lockedD);
    atomic {
        if
        :: !isFinished[U] && phase != executing && phase != finished ->
            touch;
            isCounted = true;
            wasFiled = (phase == filed);
            count++;
#ifdef BREAK_UNFILE             /* a filed dependent goes back at once, though somebody has it in hands */
            if
            :: wasFiled -> phase = waiting
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
    atomic { leave(lockedD); leave(locked[U]) }

    /* It takes D out of the list again. If it is not there, who has it reads the word. */
    if
    :: wasFiled ->
        take(queueLocked);
        if
        :: inList ->
            atomic {
                touch;
                if
                :: mustGoBack -> phase = waiting; hands--; inList = false
                :: else
                fi
            }
        :: else
        fi;
        leave(queueLocked)
    :: else
    fi;
    release();
    actors--
}

/* Who made D enqueues it, or lets go of it. */
proctype Owner() {
    bool isMine, goesIn, isLast;
    byte edge;
    if
    :: true ->
        take(queueLocked);
        atomic {                /* place and phase in one hold: who files it must find it in the ring */
            if
            :: phase == created ->
                references++;
                inRing = true;
                phase = waiting;
                if
                :: count == 0 || cancelled -> file(); isMine = true
                :: else
                fi
            :: else
            fi;
            leave(queueLocked)
        }
        if
        :: isMine -> bring()
        :: else
        fi
    :: letGo = true
    fi;
    release();
    actors--
}

/* A worker takes D from the list. */
active proctype Worker() {
    bool has, isFirst, isLast, runs;
    byte edge;
end_idle:
    do
    :: atomic { inList && !queueLocked -> queueLocked = true };
        if
        :: inList ->
            atomic {
                inList = false;
                has = true;
#ifndef BREAK_CLAIM             /* it relies on the ring's reference */
                references++;
#endif
            }
        :: else
        fi;
        leave(queueLocked);
        if
        :: has ->
            has = false;
            atomic {
                touch;
                hands--;
                if
                :: mustGoBack -> phase = waiting
                :: phase == filed && !mustGoBack -> phase = executing; starts++; runs = true
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
            release()
#endif
        :: else
        fi
    od
}

#ifdef WAITERS
proctype Waiter() {
    bool registers;
    take(locked[T]);
#ifdef BREAK_WAITER             /* the check comes before the lock */
    leave(locked[T]);
    registers = !isFinished[T];
    take(locked[T]);
#else
    registers = !isFinished[T];
#endif
    atomic {
        if
        :: registers -> waiterIsRegistered = true; hasAudience[T] = true
        :: else
        fi;
        leave(locked[T])
    }
    if
    :: registers -> atomic { semaphore > 0 -> semaphore-- }
    :: else
    fi;
    assert(isFinished[T]);
    actors--
}

proctype CompletionSetter() {
    take(locked[T]);
    atomic {
        if
        :: !isFinished[T] -> hasCompletion = true; hasAudience[T] = true; completionsSet++
        :: else
        fi;
        leave(locked[T])
    }
    actors--
}
#endif

#ifdef CANCEL
proctype Canceller() {
    bool isMine, goesIn, isLast;
    byte edge;
    atomic {
        touch;
        if
        :: phase != finished -> cancelled = true
        :: else
        fi;
        if
        :: phase == waiting -> file(); isMine = true
        :: else                 /* filed: it only moves to another list, if it is in one */
        fi
    }
    if
    :: isMine -> bring()
    :: else
    fi;
    release();
    actors--
}
#endif

#ifdef FOREIGN
proctype Subclass() {
    bool isFirst, isLast;
    byte edge;
    if
    :: phase != created -> finishD()
    :: letGo                    /* never enqueued: nothing that could end */
    fi;
    release();
    actors--
}
#endif

#ifdef REMOVE
proctype Remover() {
    bool isMine, goesIn, isLast;
    byte edge;
    take(locked[T]);
    take(lockedD);
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
            :: count == 0 && phase == waiting -> file(); isMine = true
            :: else
            fi
        }
    :: else
    fi;
    atomic { leave(lockedD); leave(locked[T]) };
    if
    :: isMine -> bring()
    :: else
    fi;
    release();
    actors--
}
#endif

#ifdef KEEP
/* When E has finished, D need not keep what it depended on: if D has finished, and has taken out its edges. */
proctype EarlyDependent() {
    bool isLast;
    byte edge;
    take(lockedD);
    atomic {
        touch;
        if
#ifdef BREAK_KEEP               /* whether or not D has finished */
        :: true -> stopKeepingT()
#else
        :: isDetached -> stopKeepingT()
        :: else
#endif
        fi;
        leave(lockedD)
    }
    release();
    actors--
}
#endif

init {
    atomic {
        /* D's owner made the first edge. */
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
    /* In the end all has been told, D has finished if it was enqueued, and nobody holds it. */
    actors == 0 && isFinished[T] && isFinished[U] && freed;
    timeout;
    atomic {
        assert(posts <= 1 && semaphore == 0 && !waiterIsRegistered);
        assert(completionsRun == completionsSet);
        assert(phase == created || phase == finished);
        assert(!inRing && !inList && hands == 0);
        assert(!linked[T] && !linked[U]);
        assert(freedT);
        /* Each edge lowered the count once, unless D's early end took the edge away. */
        assert(starts == 0 || cancelled || lowered[T] + lowered[U] == linksMade[T] + linksMade[U])
    }
}
