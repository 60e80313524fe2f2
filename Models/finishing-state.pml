/* The state of finishing.pml, and the steps that several of its threads take: the references to D,
 * its place in the queue, its edges, its end. */

#define T 0
#define U 1

mtype = { created, waiting, queued, executing, finished };

/* The lifecycle states of T and U */
bool isFinished[2];
bool locked[2];
bool hasSuccessors[2];
bool hasEndObservers[2];
/* Whether D's edge is in the list of successors of T and of U */
bool linked[2];

/* The extras of T */
bool waiterIsRegistered;
byte semaphore;                 /* of the waiter */
bool hasCompletion;

/* The lifecycle state of D */
mtype phase = created;
bool  cancelled;
byte  count;
bool  lockedD;
/* D's dependencies, guarded by D's lock */
bool  dependsOn[2];

/* The references to D. Each thread that acts on D from outside holds one, as any caller does. */
byte  references;
bool  wasAbandoned;             /* the owner released D without enqueuing it */
bool  freed;
#define touch  assert(!freed)

/* The references to T: one of its thread until T has finished, and one of D */
byte  referencesT = 2;
bool  dRetainsT = true, isDetached;     /* guarded by D's lock */
bool  freedT;
#define touchT  assert(!freedT)

/* The queue */
bool  queueLocked;
bool  inRing, inReadyQueue;

/* Counters that the assertions check */
byte  owners;                   /* threads responsible for a queued D */
byte  lowered[2], linksMade[2];
byte  starts, posts, completionsSet, completionsRun;
byte  actors;                   /* outside threads that have not finished */

#define lock(bit)    atomic { !bit -> bit = true }
#define unlock(bit)  bit = false

/* From waiting, or from created when D is enqueued. The thread that makes this step is the only
 * owner of D. */
inline becomeQueued() {
    phase = queued;
    owners++;
    assert(owners == 1)
}

/* The owner of a queued D may not start it: D waits again, unless its last dependency has
 * finished. */
#define mustWaitAgain  (phase == queued && count > 0 && !cancelled)

/* Puts D, which the caller has made queued, into the ready queue. */
inline putIntoReadyQueue() {
    lock(queueLocked);
    atomic {
        touch;
        if
        :: mustWaitAgain -> phase = waiting; owners--; goesIn = false
        :: phase == queued && !mustWaitAgain -> goesIn = true
        :: phase != queued -> owners--; goesIn = false
        fi
    }
    atomic {
        if
        :: goesIn -> assert(!inReadyQueue); inReadyQueue = true; goesIn = false
        :: else
        fi;
        unlock(queueLocked)
    }
}

inline releaseT() {
    touchT;
    referencesT--;
    freedT = (referencesT == 0)
}

inline stopRetainingT() {
    if
    :: dRetainsT -> dRetainsT = false; dependsOn[T] = false; releaseT()
    :: else
    fi
}

/* Takes D's edges off the lists of its dependencies, under their locks. */
inline detach() {
    edge = T;
    do
    :: edge <= U ->
        touch;
        if
        :: !dependsOn[edge] -> skip
#ifdef BREAK_DETACH_FINISHED    /* skips finished dependencies, whose threads may still walk */
        :: dependsOn[edge] && isFinished[edge] -> skip
        :: dependsOn[edge] && !isFinished[edge] ->
#elif defined(BREAK_DETACH_UNLINKED)    /* skips edges that look unlinked, without the lock */
        :: dependsOn[edge] && !linked[edge] -> skip
        :: dependsOn[edge] && linked[edge] ->
#else
        :: dependsOn[edge] ->
#endif
            assert(edge != T || !freedT);
            lock(locked[edge]);
            lock(lockedD);
            atomic {
                touch;
                linked[edge] = false;
                unlock(lockedD)
            }
            assert(edge != T || !freedT);
            unlock(locked[edge])
        fi;
        edge++
    :: else -> break
    od;
    edge = T;
    atomic { !lockedD -> isDetached = true }
}

/* Releases a reference to D. The last release runs the deinit, which also detaches D. */
inline releaseD() {
    atomic {
        touch;
        references--;
        if
        :: references == 0 -> isLast = true
        :: else
        fi
    }
    if
    :: isLast ->
        isLast = false;
        detach();
        atomic { stopRetainingT(); freed = true }
    :: else
    fi
}

/* The end of D, by its worker or by a subclass on another thread. The first call wins. */
inline finishD() {
    atomic {
        !lockedD ->
        touch;
        if
        :: phase != finished -> phase = finished; isFirst = true
        :: else
        fi
    }
    if
    :: isFirst ->
        isFirst = false;
        lock(queueLocked);
        atomic {
            if
            :: inReadyQueue -> inReadyQueue = false; owners--
            :: else
            fi;
            inRing = false;
            unlock(queueLocked)
        }
#ifndef BREAK_DETACH            /* an early end leaves the edges in the lists */
        detach();
#endif
        releaseD()              /* the reference of the ring */
    :: else
    fi
}
