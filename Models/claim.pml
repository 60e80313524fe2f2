/* Claims: which thread runs an operation that a worker has claimed together with others. See
 * QueuesAndClaims.md.
 *
 * Two workers claim from one queue of width two, in claims of up to three operations. Of five
 * operations, 0, 1 and 2 are ready at the beginning. Operation 0 makes 3 ready, and 3 makes 4
 * ready: a chain, which the worker appends to its claim, keeps until the end of its claim, or puts
 * into the ready queue. The monitor thread reclaims the rest of either claim, once or twice. Chosen
 * by macros, to keep the searches small:
 *   LATER   operation 1 gets a dependency before its turn; the dependency finishes later, and
 *           queues the operation anew
 *   RECALL  a better operation becomes ready, so a worker returns the rest of its own claim
 *   KEEP    operation 1 makes 4 ready instead of 3, so a claim can keep two successors
 *
 * The queue's lock is a variable and not an atomic block, because much happens without it.
 *
 * Sources:
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Lifecycle/Operation+FastPath.swift
 *   Operations/Scheduling/Claim.swift
 *   Operations/Scheduling/ClaimRunner.swift
 *   Operations/Scheduling/OperationRing.swift
 *   Operations/Scheduling/QueueState.swift
 *   Operations/Scheduling/QueueState+Claiming.swift
 *   Operations/Scheduling/QueueState+Detaching.swift
 */

#define OPERATIONS  5
#define CAPACITY    3
#define NONE        7
#if defined(LATER) || defined(RECALL)
#define RECLAIMS    1
#else
#define RECLAIMS    2
#endif
#define LATE        1           /* the operation that gets a late dependency */

mtype = { waiting, queued, finished };

/* The lifecycle states */
mtype phase[OPERATIONS];
bool  hasDependency;            /* of LATE */
bool  freed[OPERATIONS];
#define touch(o)  assert(!freed[o])

/* QueueState */
bool  queueLocked;
bool  inRing[OPERATIONS], inReadyQueue[OPERATIONS];
byte  slotsInUse;

/* Of each worker: the cursor, which is one atomic, and the entries */
byte  next[2], end[2];
byte  entries[6];               /* three for each worker */
byte  kept[6], keptCount[2];    /* successors that became ready; three for each worker */
bool  hasClaim[2];              /* guarded by the queue's lock: the claim is registered */
bool  isRecalled;

/* Counters that the assertions check */
byte  runs[OPERATIONS];

#define entry(w, i)   entries[(w) * CAPACITY + (i)]
#define keptOne(w, i) kept[(w) * CAPACITY + (i)]
#define lock(bit)     atomic { !bit -> bit = true }
#define unlock(bit)   bit = false
#ifdef KEEP
#define successor(o)  (o == 0 -> 3 : (o == 1 -> 4 : NONE))
#else
#define successor(o)  (o == 0 -> 3 : (o == 3 -> 4 : NONE))
#endif
#define allFinished   (phase[0] == finished && phase[1] == finished && phase[2] == finished \
                       && phase[3] == finished && phase[4] == finished)
#define ringIsEmpty   (!inRing[0] && !inRing[1] && !inRing[2] && !inRing[3] && !inRing[4])
#define isRunnable    (inReadyQueue[0] || inReadyQueue[1] || inReadyQueue[2] || inReadyQueue[3] \
                       || inReadyQueue[4])

/* Puts an operation back into the ready queue. The caller holds the queue's lock. */
inline putBack(o) {
    touch(o);
    assert(phase[o] != finished);
    assert(inRing[o] && !inReadyQueue[o]);
    inReadyQueue[o] = true
}

proctype Worker(byte me) {
    byte o = NONE;              /* the operation that the worker is about to run */
    bool toRetire[OPERATIONS];  /* the operations that the worker ran, which must be retired */
    byte i, e;
    bool hasSlot;

    do
    :: true ->
        /* One hold of the lock: retire the claim. */
        if
        :: hasClaim[me] ->
            lock(queueLocked);
            atomic {
                hasClaim[me] = false;
#ifdef BREAK_PUT_BACK           /* retires all entries, including operations that could not start */
                for (i : 0 .. CAPACITY - 1) {
                    if
                    :: i < next[me] && i < end[me] -> toRetire[entry(me, i)] = true
                    :: else
                    fi
                }
#endif
                for (i : 0 .. OPERATIONS - 1) {
                    if
                    :: toRetire[i] ->
                        touch(i);
                        assert(phase[i] == finished && inRing[i]);
                        inRing[i] = false;
                        freed[i] = true;        /* the ring held the last reference */
                        toRetire[i] = false
                    :: else
                    fi
                }
                i = 0;
#ifndef BREAK_KEPT              /* the successors are not taken */
                do
                :: i < keptCount[me] -> putBack(keptOne(me, i)); keptOne(me, i) = 0; i++
                :: else -> break
                od;
                i = 0;
                keptCount[me] = 0;
#endif
                unlock(queueLocked)
            }
        :: else
        fi;
        /* Another hold of the lock: return the width slot, and claim the next claim. */
        lock(queueLocked);
        atomic {
            if
            :: hasSlot ->
                assert(slotsInUse > 0);
                hasSlot = false;
                slotsInUse--
            :: else
            fi;
            e = 0;
            for (i : 0 .. OPERATIONS - 1) {
                if
                :: inReadyQueue[i] && e < CAPACITY && slotsInUse < 2 ->
                    touch(i);
                    inReadyQueue[i] = false;
                    entry(me, e) = i;
                    e++
                :: else
                fi
            }
            i = 0;
            if
            :: e > 0 ->
                next[me] = 0;
                end[me] = e;
                hasClaim[me] = true;
                hasSlot = true;
                slotsInUse++;
                assert(slotsInUse <= 2)
            :: else
            fi;
            e = 0;
            unlock(queueLocked)
        }
        if
        :: !hasSlot -> (isRunnable && slotsInUse < 2) || allFinished;
            if
            :: allFinished -> break
            :: else
            fi
        :: else
        fi;

        /* Run the claim. */
        do
        :: hasSlot ->
            if
            :: isRecalled ->    /* a better operation is ready: the worker returns the rest */
                lock(queueLocked);
                atomic {
                    isRecalled = false;
                    for (i : 0 .. CAPACITY - 1) {
                        if
                        :: next[me] <= i && i < end[me] -> putBack(entry(me, i))
                        :: else
                        fi
                    }
                    i = 0;
                    if
                    :: end[me] > next[me] -> end[me] = next[me]
                    :: else
                    fi;
                    do
                    :: i < keptCount[me] -> putBack(keptOne(me, i)); keptOne(me, i) = 0; i++
                    :: else -> break
                    od;
                    i = 0;
                    keptCount[me] = 0;
                    unlock(queueLocked)
                }
            :: else
            fi;
            /* The worker adds 1 to `next`. The entry at the old `next` is its own, if it is before
             * `end`. */
#ifdef BREAK_CURSOR             /* `next` and `end` are two atomics */
            i = next[me];
            if
            :: i >= end[me] -> i = 0; break
            :: else -> next[me] = i + 1
            fi;
            atomic { o = entry(me, i) }
#else
            atomic {
                if
                :: next[me] < end[me] -> i = next[me]; next[me]++; o = entry(me, i)
                :: else -> next[me]++; break
                fi
            }
#endif
            atomic {
                touch(o);
                if
                :: phase[o] == queued && !(o == LATE && hasDependency) ->
                    phase[o] = finished;
                    runs[o]++;
                    assert(runs[o] == 1);
                    toRetire[o] = true
                :: phase[o] == queued && o == LATE && hasDependency ->
                    /* the worker strikes LATE from the claim; another thread queues it anew */
                    phase[o] = waiting;
                    o = NONE
                :: else -> o = NONE
                fi;
                i = 0
            }

            /* The successor is ready: append it without the lock, or put it into the ready
             * queue. */
            if
            :: o != NONE && successor(o) != NONE ->
                o = successor(o);
                atomic { touch(o); assert(phase[o] == waiting); phase[o] = queued };
                do
#ifdef BREAK_RESET              /* an empty claim starts at the front again, without the lock */
                :: next[me] >= end[me] && hasClaim[me] ->
                    entry(me, 0) = o;
                    atomic { next[me] = 0; end[me] = 1 }
                    break
#else
                :: end[me] < CAPACITY && keptCount[me] == 0 ->
                    e = end[me];
                    entry(me, e) = o;
                    /* a compare-and-swap, which fails if the monitor thread has moved `end` */
                    atomic {
                        if
                        :: end[me] == e -> end[me]++; e = 0; break
                        :: else -> e = 0
                        fi
                    }
#endif
                :: true ->
                    lock(queueLocked);
                    atomic { putBack(o); unlock(queueLocked) }
                    break
                :: keptCount[me] < CAPACITY ->      /* keep the successor */
                    e = keptCount[me];
                    keptOne(me, e) = o;
                    /* a compare-and-swap, which fails if the monitor thread has taken them */
                    atomic {
                        if
                        :: keptCount[me] == e -> keptCount[me]++; e = 0; break
                        :: else -> e = 0
                        fi
                    }
                od
            :: else
            fi;
            o = NONE
        :: else -> break
        od
    od
}

/* Finds a claim that has not moved, and reclaims its rest by moving `end` to `next`. */
active proctype Monitor() {
    byte w, n, e, i;
    byte copy[CAPACITY];
    byte reclaims = RECLAIMS;
    do
    :: reclaims > 0 && !allFinished ->
        reclaims--;
        if
        :: w = 0
        :: w = 1
        fi;
#ifndef BREAK_COPY_BEFORE_LOCK  /* reads cursor and entries before it holds the lock */
        lock(queueLocked);
#endif
        if
        :: hasClaim[w] ->
            atomic { n = next[w]; e = end[w] }
#ifndef BREAK_COPY_AFTER_RECLAIM /* reads the entries when the owner may already reuse them */
            i = n;
            do
            :: i < e -> copy[i] = entry(w, i); i++
            :: else -> break
            od;
#endif
#ifdef BREAK_COPY_BEFORE_LOCK
            lock(queueLocked);
#endif
            atomic {            /* a compare-and-swap */
                if
                :: n < e && next[w] == n && end[w] == e -> end[w] = n
                :: else -> e = 0
                fi
            }
            i = n;
            do
            :: i < e ->
#ifdef BREAK_COPY_AFTER_RECLAIM
                copy[i] = entry(w, i);
#endif
                atomic { putBack(copy[i]); i++ }
            :: else -> break
            od;
            do                  /* the successors that the owner has kept */
            :: keptCount[w] > 0 ->
                e = keptCount[w];
                i = 0;
                do
                :: i < e -> copy[i] = keptOne(w, i); i++
                :: else -> break
                od;
                atomic {        /* a compare-and-swap */
                    if
                    :: keptCount[w] == e ->
                        keptCount[w] = 0;
#ifndef BREAK_KEPT_COPY         /* for fewer states; the real entries stay */
                        keptOne(w, 0) = 0;
                        keptOne(w, 1) = 0;
                        keptOne(w, 2) = 0
#endif
                    :: else -> e = 0
                    fi
                }
                i = 0;
                do
                :: i < e ->
#ifdef BREAK_KEPT_COPY
                    copy[i] = keptOne(w, i);
#endif
                    atomic { putBack(copy[i]); i++ }
                :: else -> break
                od
            :: else -> break
            od;
            unlock(queueLocked)
        :: else ->
#ifndef BREAK_COPY_BEFORE_LOCK
            unlock(queueLocked)
#else
            skip
#endif
        fi;
        atomic { w = 0; n = 0; e = 0; i = 0; copy[0] = 0; copy[1] = 0; copy[2] = 0 }
    :: else -> break
    od
}

#ifdef LATER
/* A dependency that is perhaps added to LATE, and that finishes later. */
active proctype Dependency() {
    bool mustPutBack;
    if
    :: atomic { phase[LATE] == queued && !freed[LATE] -> hasDependency = true };
        lock(queueLocked);
        atomic {                /* takes LATE off the ready queue, if it is there */
            if
            :: inReadyQueue[LATE] && phase[LATE] == queued ->
                inReadyQueue[LATE] = false;
                phase[LATE] = waiting
            :: else
            fi;
            unlock(queueLocked)
        }
        atomic {
            hasDependency = false;
            if
            :: phase[LATE] == waiting -> phase[LATE] = queued; mustPutBack = true
            :: else
            fi
        }
        if
        :: mustPutBack ->
            lock(queueLocked);
            atomic { putBack(LATE); unlock(queueLocked) }
        :: else
        fi
    :: true
    fi
}
#endif

#ifdef RECALL
active proctype BetterOperation() {
    isRecalled = true
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            inRing[i] = true;
            inReadyQueue[i] = (i < 3);
            phase[i] = (i < 3 -> queued : waiting)
        }
        i = 0;
        run Worker(0);
        run Worker(1)
    }
    /* Each operation ran once, the ring is empty, and the width slots are free. If not, this
     * process waits here for ever, which is an invalid end state. */
    allFinished && slotsInUse == 0 && ringIsEmpty;
    assert(!hasClaim[0] && !hasClaim[1]);
    assert(!isRunnable)
}
