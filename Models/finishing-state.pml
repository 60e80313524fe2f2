/* What finishing.pml works on, and the steps that several of its threads take: D's references, its place in
 * the queue, its edges, its end.
 */

#define T 0
#define U 1

mtype = { created, waiting, filed, executing, finished };

/* T and U: their words */
bool isFinished[2];
bool locked[2];
bool hasSuccessors[2];
bool hasAudience[2];
/* T's and U's list of successors: whether D's edge is linked */
bool linked[2];

/* T's extras */
bool waiterIsRegistered;
byte semaphore;                 /* of the waiter */
bool hasCompletion;

/* D: its word */
mtype phase = created;
bool  cancelled;
byte  count;
bool  lockedD;
/* D's own list of dependencies, under its lock */
bool  dependsOn[2];

/* D: who holds it. Those who act on it from outside hold a reference, as any caller does. */
byte  references;
bool  letGo;                    /* by its owner, who never enqueued it */
bool  freed;
#define touch  assert(!freed)

/* T: its thread holds it until it has finished, and D keeps it */
byte  referencesT = 2;
bool  dKeepsT = true, isDetached;       /* under D's lock */
bool  freedT;
#define touchT  assert(!freedT)

/* The queue */
bool  queueLocked;
bool  inRing, inList;

/* What is counted to be checked */
byte  hands;                    /* who undertook to bring a filed D on, its place in the list included */
byte  lowered[2], linksMade[2];
byte  starts, posts, completionsSet, completionsRun;
byte  actors;                   /* threads outside that are still at it */

#define take(lock)   atomic { !lock -> lock = true }
#define leave(lock)  lock = false

/* From waiting, or from created by enqueueing: who does it is the only one to bring D on. */
inline file() {
    phase = filed;
    hands++;
    assert(hands == 1)
}

/* A holder of a filed D may not go on with it: back, unless the last dependency has gone meanwhile. */
#define mustGoBack  (phase == filed && count > 0 && !cancelled)

/* Brings D, which the caller filed, to its queue's list. */
inline bring() {
    take(queueLocked);
    atomic {
        touch;
        if
        :: mustGoBack -> phase = waiting; hands--; goesIn = false
        :: phase == filed && !mustGoBack -> goesIn = true
        :: phase != filed -> hands--; goesIn = false
        fi
    }
    atomic {
        if
        :: goesIn -> assert(!inList); inList = true; goesIn = false
        :: else
        fi;
        leave(queueLocked)
    }
}

inline releaseT() {
    touchT;
    referencesT--;
    freedT = (referencesT == 0)
}

inline stopKeepingT() {
    if
    :: dKeepsT -> dKeepsT = false; dependsOn[T] = false; releaseT()
    :: else
    fi
}

/* Takes D's edges out of the lists of its dependencies, under their locks. */
inline detach() {
    edge = T;
    do
    :: edge <= U ->
        touch;
        if
        :: !dependsOn[edge] -> skip
#ifdef BREAK_DETACH_FINISHED    /* leaves out dependencies that say finished: their walk may still go on */
        :: dependsOn[edge] && isFinished[edge] -> skip
        :: dependsOn[edge] && !isFinished[edge] ->
#elif defined(BREAK_DETACH_UNLINKED)    /* leaves out edges that look unlinked, without the lock */
        :: dependsOn[edge] && !linked[edge] -> skip
        :: dependsOn[edge] && linked[edge] ->
#else
        :: dependsOn[edge] ->
#endif
            assert(edge != T || !freedT);
            take(locked[edge]);
            take(lockedD);
            atomic {
                touch;
                linked[edge] = false;
                leave(lockedD)
            }
            assert(edge != T || !freedT);
            leave(locked[edge])
        fi;
        edge++
    :: else -> break
    od;
    edge = T;
    atomic { !lockedD -> isDetached = true }
}

/* Lets go of a reference to D; with the last one its deinit runs, which detaches it too. */
inline release() {
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
        atomic { stopKeepingT(); freed = true }
    :: else
    fi
}

/* The end of D, by its worker or by a subclass on another thread: the first one wins. */
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
        take(queueLocked);
        atomic {
            if
            :: inList -> inList = false; hands--
            :: else
            fi;
            inRing = false;
            leave(queueLocked)
        }
#ifndef BREAK_DETACH            /* an early end leaves its edges where they are */
        detach();
#endif
        release()               /* the ring's reference */
    :: else
    fi
}
