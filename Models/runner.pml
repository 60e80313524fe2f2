/* Async bodies in a claim: some are suspended, and end in the claim or elsewhere. See
 * RunningAsyncBodies.md.
 *
 * A worker has three operations in a claim, of a queue of width one. Each body returns at once, or
 * is suspended. A suspended body is continued by a job that waits for the worker, or by another
 * thread, at any time; a job that waits for the worker may also be passed to another thread. The
 * monitor thread may reclaim the rest of the claim, remove what has ended and return slots that the
 * claim does not need. A second worker runs the operations that are returned to the ready queue. In
 * a queue of width one it also runs an operation that was added behind the claim. All have one
 * priority: with width one they begin in the order in which they were added.
 *
 * However the last operation leaves, the queue becomes empty once. Then its waiters are woken, and
 * the queue gives up its reference to itself.
 *
 * Chosen by macros:
 *   WIDE     the queue has width two
 *   EACH     the queue has width three, and the claim has a slot for each entry from the beginning
 *
 * The lock of the queue is a variable here, because the words of the claim change while other
 * threads hold it. One step is one access to such a word.
 *
 * Sources:
 *   Operations/Async
 *   Operations/Scheduling/Claim.swift
 *   Operations/Scheduling/ClaimRunner.swift
 *   Operations/Scheduling/QueueState.swift
 *   Operations/Scheduling/QueueState+Detaching.swift
 */

#define CLAIMED    3            /* the operations of the claim, from 0 */
#define NONE       7
#define AT_CURSOR  5
#define AT_JOBS    6
#ifdef WIDE
#define WIDTH      2
#else
#ifdef EACH
#define WIDTH      3
#else
#define WIDTH      1
#endif
#endif
#if WIDTH == 1
#define OPERATIONS 4
#else
#define OPERATIONS 3
#endif

mtype = { queued, executing, finished };

/* The lifecycle states */
mtype phase[OPERATIONS];
bool  claimedAlone[OPERATIONS], holdsSlot[OPERATIONS];

/* The queue */
bool  isLocked;
bool  inRing[OPERATIONS], inReadyQueue[OPERATIONS];
byte  running;
byte  inRingCount = OPERATIONS;
#define executingCount \
    ((phase[0] == executing) + (phase[1] == executing) + (phase[2] == executing) + executesLast)
#if WIDTH == 1
#define executesLast (phase[3] == executing)
#else
#define executesLast 0
#endif

/* The claim. Its entries are the operations, in order. */
byte  next, end;                /* the cursor */
byte  slots;
bool  isOpen[CLAIMED];          /* one word with the next; only the owner changes it */
byte  whereabouts = AT_CURSOR;
bool  hasPlace[CLAIMED];        /* guarded by the lock */
bool  isRegistered;

/* How a suspended body is continued */
bool  hasJob[CLAIMED], isElsewhere[CLAIMED];

/* For the assertions */
byte  bodies[OPERATIONS], ends[OPERATIONS];
byte  begun;                    /* the number of operations that have begun */
byte  timesEmpty;               /* how often somebody found that the queue has become empty */
bool  isTouched[CLAIMED];       /* the owner is ending the operation */

#define lock   atomic { !isLocked -> isLocked = true }
#define unlock isLocked = false
#if WIDTH == 1
#define isRunnable (inReadyQueue[0] || inReadyQueue[1] || inReadyQueue[2] || inReadyQueue[3])
#else
#define isRunnable (inReadyQueue[0] || inReadyQueue[1] || inReadyQueue[2])
#endif
#define openCount (isOpen[0] + isOpen[1] + isOpen[2])
#define openInClaim \
    ((isOpen[0] && hasPlace[0]) + (isOpen[1] && hasPlace[1]) + (isOpen[2] && hasPlace[2]))

inline begin(o) {
    assert(phase[o] == queued);
    phase[o] = executing;
    bodies[o]++;
    assert(bodies[o] == 1 && executingCount <= WIDTH && running <= WIDTH);
#if WIDTH == 1
    assert(o == begun);         /* the order of addition */
#endif
    begun++
}

/* `departure(leaving:)`: the end of each hold of the lock in which operations have left */
inline departure(count) {
    inRingCount = inRingCount - count;
    if
#ifdef BREAK_LEAVING            /* says that the queue has become empty though nothing has left */
    :: inRingCount == 0 ->
#else
    :: inRingCount == 0 && count > 0 ->
#endif
        timesEmpty++;
        assert(timesEmpty == 1)
    :: else
    fi
}

inline finish(o) {
    atomic {
        assert(phase[o] == executing);
        phase[o] = finished;
        ends[o]++;
        assert(ends[o] == 1)
    }
}

inline giveBackRest() {
    for (i : 0 .. CLAIMED - 1) {
        if
        :: next <= i && i < end -> inReadyQueue[i] = true; hasPlace[i] = false
        :: else
        fi
    }
    i = 0;
    end = next
}

inline returnRest() { d_step { giveBackRest() } }

/* The owner ends an operation in its claim. */
inline endInside(o) {
    isTouched[o] = true;
#ifdef BREAK_CLOSE_FIRST        /* says where it is only after the operation is closed */
    isOpen[o] = false;
    if
    :: whereabouts == AT_JOBS -> whereabouts = o
    :: else
    fi;
#else
    atomic {
        isOpen[o] = false;
        if
        :: whereabouts == AT_JOBS -> whereabouts = o
        :: else
        fi
    }
#endif
    finish(o);
    isTouched[o] = false;
    whereabouts = AT_CURSOR
}

/* The worker that runs the claim */
active proctype Worker() {
    byte o, i, j, rounds, leaving;

    isRegistered;
    do
    :: true ->
        /* takeNext: suspended bodies keep their slots */
        if
        :: openCount > 0 && slots <= openCount ->
            lock;
            d_step {
                for (i : 0 .. CLAIMED - 1) {
                    if
                    :: !hasPlace[i] -> isOpen[i] = false
                    :: else
                    fi
                }
                i = 0
            }
            if
            :: slots <= openCount ->
                if
#ifdef BREAK_WIDTH      /* goes on without a free slot */
                :: next < end ->
#else
                :: next < end && running < WIDTH ->
#endif
                    atomic { running++; slots++ }
                :: else -> returnRest()
                fi
            :: else
            fi;
            unlock
        :: else
        fi;
        atomic {
            if
            :: next < end -> o = next; next++
            :: else -> o = NONE
            fi
        }
        if
        :: o == NONE -> break
        :: else
        fi;
        atomic { begin(o) }
        isOpen[o] = true;
        if
        :: true -> endInside(o)         /* the body returns */
        :: hasJob[o] = true             /* or is suspended */
        :: isElsewhere[o] = true
        fi;
        /* runJobs */
        rounds = 0;
        do
        :: rounds < 2 && openCount > 0 && (hasJob[0] || hasJob[1] || hasJob[2]) ->
            rounds++;
            whereabouts = AT_JOBS;
            j = NONE;
            atomic {
                if
                :: hasJob[0] -> j = 0; hasJob[0] = false
                :: hasJob[1] -> j = 1; hasJob[1] = false
                :: hasJob[2] -> j = 2; hasJob[2] = false
                :: else
                fi
            }
            if
            :: j != NONE -> endInside(j)
            :: else
            fi;
            whereabouts = AT_CURSOR
        :: else -> break
        od
    od;
    /* Retire the claim. */
    lock;
    d_step {
        for (i : 0 .. CLAIMED - 1) {
            if
#ifdef BREAK_RETIRE     /* detaches operations that were taken out before */
            :: i < next && isOpen[i] ->
#else
            :: i < next && isOpen[i] && hasPlace[i] ->
#endif
                hasPlace[i] = false;
                assert(!claimedAlone[i]);
                holdsSlot[i] = (slots > 0);
                slots = slots - (slots > 0);
                claimedAlone[i] = true
            :: else
            fi;
            isOpen[i] = false
        }
        for (i : 0 .. CLAIMED - 1) {
            if
            :: i < next && hasPlace[i] ->
                assert(phase[i] == finished && inRing[i]);
                hasPlace[i] = false;
                inRing[i] = false;
                leaving++
            :: else
            fi
        }
        i = 0;
        departure(leaving);
        leaving = 0;
        running = running - slots;
        slots = 0;
        isRegistered = false
    }
    unlock;
    /* The jobs that are left are run elsewhere, or by this worker as by any other. */
    do
    :: atomic { hasJob[0] -> hasJob[0] = false; isElsewhere[0] = true }
    :: atomic { hasJob[1] -> hasJob[1] = false; isElsewhere[1] = true }
    :: atomic { hasJob[2] -> hasJob[2] = false; isElsewhere[2] = true }
    :: else -> break
    od
}

/* A thread that continues suspended bodies elsewhere. */
active [2] proctype Resumer() {
    byte o, i;

end_idle:
    do
    :: atomic {
            if
            :: isElsewhere[0] -> o = 0
            :: isElsewhere[1] -> o = 1
            :: isElsewhere[2] -> o = 2
            fi;
            isElsewhere[o] = false
        }
        if
        :: claimedAlone[o]
        :: else ->
            lock;
            d_step {
                if
#ifdef BREAK_TAKE_OUT   /* does not look whether the claim was retired meanwhile */
                :: true ->
#else
                :: isRegistered && hasPlace[o] ->
#endif
                    hasPlace[o] = false;
                    holdsSlot[o] = (slots > 0);
                    assert(slots > 0);
                    slots--;
                    claimedAlone[o] = true;
#ifndef BREAK_REST              /* the rest waits for its owner, which asks for another slot */
                    if
                    :: slots > openInClaim
                    :: slots <= openInClaim && next < end && running < WIDTH -> running++; slots++
                    :: else -> giveBackRest()
                    fi
#endif
                :: else -> assert(claimedAlone[o])
                fi
            }
            unlock
        fi;
        finish(o);
        lock;
        d_step {
            assert(claimedAlone[o] && inRing[o]);
            inRing[o] = false;
            departure(1);
            running = running - holdsSlot[o];
            holdsSlot[o] = false;
            o = 0
        }
        unlock
    od
}

/* A thread that takes a job from the worker and passes it on, or adds a job for the worker. */
active proctype Another() {
    if
    :: atomic { hasJob[0] -> hasJob[0] = false; isElsewhere[0] = true }
    :: atomic { hasJob[1] -> hasJob[1] = false; isElsewhere[1] = true }
    :: atomic { isRegistered && isElsewhere[0] -> isElsewhere[0] = false; hasJob[0] = true }
    :: atomic { isRegistered && isElsewhere[1] -> isElsewhere[1] = false; hasJob[1] = true }
    :: true
    fi
}

/* Runs the operations that were returned to the ready queue, and what was added behind them. */
active proctype Other() {
    byte o;

end_idle:
    do
    :: atomic {
            !isLocked && running < WIDTH && isRunnable ->
            if
            :: inReadyQueue[0] -> o = 0
            :: !inReadyQueue[0] && inReadyQueue[1] -> o = 1
            :: !inReadyQueue[0] && !inReadyQueue[1] && inReadyQueue[2] -> o = 2
#if WIDTH == 1
            :: !inReadyQueue[0] && !inReadyQueue[1] && !inReadyQueue[2] -> o = 3
#endif
            fi;
            inReadyQueue[o] = false;
            running++;
            begin(o)
        }
        finish(o);
        atomic { !isLocked -> inRing[o] = false; departure(1); running--; o = 0 }
    od
}

/* The monitor thread, twice */
active proctype Monitor() {
    byte i, w, needed, looks, position, leaving;
    bool open[CLAIMED];

    do
    :: looks < 2 ->
        looks++;
        lock;
        if
        :: isRegistered ->
            returnRest();
            /* Return the slots that are not needed. */
            d_step {
                for (i : 0 .. CLAIMED - 1) { open[i] = isOpen[i] }
                i = 0;
                w = whereabouts
            }
            d_step {
                needed = 0;
                for (i : 0 .. CLAIMED - 1) {
                    if
                    :: open[i] && hasPlace[i] -> needed++
                    :: else
                    fi
                }
                i = 0;
                if
#ifdef BREAK_RESUMED            /* takes the owner for being at the last entry */
                :: w != AT_JOBS && !(next > 0 && open[next - 1]) -> needed++
#else
                :: w < CLAIMED || (w == AT_CURSOR && !(next > 0 && open[next - 1])) -> needed++
#endif
                :: else
                fi;
                if
                :: slots > needed -> running = running - (slots - needed); slots = needed
                :: else
                fi
            }
            /* Remove what has ended. */
            position = next;
            d_step {
                for (i : 0 .. CLAIMED - 1) { open[i] = isOpen[i] }
                i = 0;
                w = whereabouts
            }
            d_step {
                for (i : 0 .. CLAIMED - 1) {
                    if
#ifdef BREAK_WHEREABOUTS        /* removes the operation that the owner is ending */
                    :: i + 1 < position && hasPlace[i] && !open[i] ->
#else
                    :: i + 1 < position && hasPlace[i] && !open[i] && i != w ->
#endif
                        assert(phase[i] == finished && !isTouched[i] && inRing[i]);
                        hasPlace[i] = false;
                        inRing[i] = false;
                        leaving++
                    :: else
                    fi
                }
                i = 0;
#ifdef BREAK_DEPARTURE          /* does not look whether these were the last ones */
                inRingCount = inRingCount - leaving;
#else
                departure(leaving);
#endif
                leaving = 0
            }
        :: else
        fi;
        unlock
    :: true -> break
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            phase[i] = queued;
            inRing[i] = true
        }
        for (i : 0 .. CLAIMED - 1) { hasPlace[i] = true }
        i = 0;
        end = CLAIMED;
#if WIDTH == 1
        inReadyQueue[3] = true;
#endif
#ifdef EACH
        slots = 3;
        running = 3;
#else
        slots = 1;
        running = 1;
#endif
        isRegistered = true
    }
    /* Each body has run once, each operation has left, and all slots are returned. */
    inRingCount == 0 && !isRegistered && running == 0;
    assert(begun == OPERATIONS);
    /* The waiters were woken, and the queue has given up its reference to itself. */
    assert(timesEmpty == 1)
}
