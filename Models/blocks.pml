/* Blocks in claims: who runs a block for which no operation was made, and who ends it, while other
 * threads make its operation, take it back or drop it. See Blocks.md.
 *
 * Two workers claim from one queue of width two, up to two entries at a time. Of the three blocks,
 * 0 and 1 are in the queue at the beginning, and a producer adds 2. A thread makes the operation of
 * the block that one of the workers runs. Chosen by a macro, to keep the searches small:
 *   (none)  the monitor thread takes back the rest of a claim, and removes its ended entries
 *   CANCEL  a thread drops the blocks that have not begun, and makes operations for the running ones
 *
 * `claim.pml` is the model of the same cursor for operations, which no thread names.
 *
 * The queue's lock is a variable and not an atomic block, because much happens without it.
 *
 * Sources:
 *   Operations/Scheduling/ClaimRunner.swift
 *   Operations/Scheduling/Claim.swift
 *   Operations/Scheduling/OperationQueue+Blocks.swift
 *   Operations/Scheduling/QueueState.swift
 *   Operations/Scheduling/QueueState+Blocks.swift
 *   Operations/Scheduling/QueueState+Cancelling.swift
 */

#define BLOCKS    3
#define CAPACITY  2
#define NONE      7

/* Guarded by the queue's lock */
bool queueLocked;
bool inRing[BLOCKS];            /* the entry has not left */
bool isReady[BLOCKS];           /* no claim holds the entry */
bool isDropped[BLOCKS];         /* the block is in the lane of cancelled entries, or was there */
bool isOperation[BLOCKS];       /* an operation was made for the block */
byte running;                   /* the width slots that are taken */
bool isRegistered[2], isForDropped[2], holdsSlot[2];
byte departed[2];               /* the entries of a claim that have left before it is retired */
bool isProduced;
byte timesEmpty;                /* how often the queue has become empty */

/* Of each worker: the cursor, which is one atomic, and the entries */
byte next[2], end[2];
bool isNamed[2];
byte entries[4];

/* What the assertions check */
byte runs[BLOCKS], ends[BLOCKS];
bool isReleased[BLOCKS];        /* the closure was released */
bool isOver[2];                 /* the threads beside the workers have ended */

#define entry(w, i)   entries[(w) * CAPACITY + (i)]
#define lock()        atomic { !queueLocked -> queueLocked = true }
#define unlock()      queueLocked = false
#define mayBeNamed(w) (isRegistered[w] && !isForDropped[w] && k > departed[w] \
                       && !isOperation[entry(w, k - 1)])
#define isEmpty       (!inRing[0] && !inRing[1] && !inRing[2])
#define hasReady      (isReady[0] && !isDropped[0] || isReady[1] && !isDropped[1] \
                       || isReady[2] && !isDropped[2])
#define hasDropped    (isReady[0] && isDropped[0] || isReady[1] && isDropped[1] \
                       || isReady[2] && isDropped[2])
#define allOver       (isProduced && isOver[0] && isOver[1] && isEmpty)

/* Counts that the queue has become empty, if entries have left. The caller holds the lock. */
inline departure(count) {
    if
    :: isEmpty && count > 0 -> timesEmpty++
    :: else
    fi
}

/* Takes back the entries that were not taken. The caller holds the lock. */
inline returnRest(w) {
    atomic {                    /* a compare-and-swap, in a loop that succeeds at some time */
        k = next[w];
        n = end[w];
        end[w] = (k < n -> k : n)
    }
    do
    :: k < n -> assert(inRing[entry(w, k)]); isReady[entry(w, k)] = true; k++
    :: else -> break
    od;
    k = 0; n = 0
}

/* Makes the operation of the running block. The caller holds the lock. */
inline nameRunning(w) {
    atomic { k = next[w]; named = isNamed[w] }
    if
    :: mayBeNamed(w) && !named ->
#ifdef BREAK_NAME               /* does not notice that the owner has gone on */
        isNamed[w] = true;
#else
        atomic {                /* a compare-and-swap */
            if
            :: next[w] == k && !isNamed[w] -> isNamed[w] = true
            :: else -> k = 0    /* the owner has gone on, and the loop of the code begins anew */
            fi
        }
#endif
        if
        :: k > 0 ->
            /* Takes over the closure, which must be alive, and writes the entry. */
            assert(!isReleased[entry(w, k - 1)]);
            isOperation[entry(w, k - 1)] = true
        :: else
        fi
    :: else
    fi;
    k = 0; named = false
}

proctype Worker(byte me) {
    byte k, n, b, o = NONE;
    bool isNamedNow, isBlock;

    do
    :: lock();
        atomic {                /* claims: dropped blocks, or ready ones if there is a width slot */
            n = 0;
            if
            :: hasDropped || (hasReady && running < 2) ->
                isForDropped[me] = hasDropped;
                for (b : 0 .. BLOCKS - 1) {
                    if
                    :: isReady[b] && isDropped[b] == isForDropped[me] && n < CAPACITY ->
                        assert(inRing[b]);
                        isReady[b] = false;
                        entry(me, n) = b;
                        n++
                    :: else
                    fi
                }
                next[me] = 0; end[me] = n; departed[me] = 0;
                isRegistered[me] = true;
                holdsSlot[me] = !isForDropped[me];
                running = running + (holdsSlot[me] -> 1 : 0)
            :: else
            fi;
            b = 0; k = 0;
            unlock()
        }
        if
        :: n == 0 -> hasDropped || (hasReady && running < 2) || allOver;
            if
            :: allOver -> break
            :: else
            fi
        :: else ->
            n = 0; o = NONE;
            do
            :: atomic {         /* a compare-and-swap: takes the next entry, and so ends the block */
                    isNamedNow = isNamed[me];
                    if
                    :: !isNamedNow && next[me] < end[me] ->
                        if
                        :: o != NONE -> ends[o]++
                        :: else
                        fi;
                        o = entry(me, next[me]);
                        isBlock = !isOperation[o];  /* read before the entry is won */
                        next[me]++
                    :: !isNamedNow && next[me] >= end[me] -> goto retire
                    :: else
                    fi
                };
                if
                :: isNamedNow ->    /* ends the operation that the running block was given */
endNamed:
#ifndef BREAK_UNLOCKED          /* looks for the operation without the lock */
                    lock();
#endif
                    atomic {
                        assert(isOperation[entry(me, next[me] - 1)]);
                        assert(o == entry(me, next[me] - 1));
                        isNamed[me] = false
#ifndef BREAK_UNLOCKED
                        ; unlock()
#endif
                    }
                    ends[o]++;
                    o = NONE
                :: !isNamedNow && !isForDropped[me] && !isBlock ->
                    /* The operation was made before the claim; it begins and ends by itself. */
                    atomic { runs[o]++; ends[o]++; o = NONE }
                :: !isNamedNow && !isForDropped[me] && isBlock ->
                    atomic { assert(!isReleased[o]); runs[o]++ };
                    assert(!isReleased[o])      /* the body still uses what it captures */
                :: else -> atomic { isDropped[o] = true; o = NONE }
                fi
            od;
retire:     lock();
            atomic {
                if
#ifndef BREAK_RETIRE            /* does not see that the last block was given an operation */
                :: isNamed[me] -> unlock(); goto endNamed
#endif
                :: else ->
                    if
                    :: o != NONE -> ends[o]++; o = NONE
                    :: else
                    fi;
                    isRegistered[me] = false;
                    running = running - (holdsSlot[me] -> 1 : 0);
                    n = 0;
                    for (k : 0 .. CAPACITY - 1) {
                        if
                        :: departed[me] <= k && k < next[me] ->
                            assert(inRing[entry(me, k)]);
                            inRing[entry(me, k)] = false;
                            n++
                        :: else
                        fi
                    }
                    departure(n);
                    unlock()
                fi
            }
            atomic {            /* releases the entries of the claim, without the lock */
                for (k : 0 .. CAPACITY - 1) {
                    if
                    :: departed[me] <= k && k < next[me] ->
                        assert(!isReleased[entry(me, k)]);
                        isReleased[entry(me, k)] = true
                    :: else
                    fi
                }
                next[me] = 0; end[me] = 0; departed[me] = 0; k = 0; n = 0
            }
        fi
    od
}

proctype Producer() {
    lock();
    atomic {
        if
        :: isEmpty -> timesEmpty = 0
        :: else
        fi;
        inRing[2] = true; isReady[2] = true;
        isProduced = true;
        unlock()
    }
}

proctype Namer() {
    byte w, k;
    bool named;
    if
    :: w = 0
    :: w = 1
    fi;
    lock();
    nameRunning(w);
    isOver[0] = true;
    unlock()
}

#ifdef CANCEL
proctype Canceller() {
    byte w, k, n, b;
    bool named;
    lock();
    for (w : 0 .. 1) {
#ifdef BREAK_ORDER              /* the owner begins another block in between */
        nameRunning(w);
#endif
#ifndef BREAK_DROP              /* leaves claimed blocks to their claims, which begin them */
        if
        :: isRegistered[w] -> returnRest(w)
        :: else
        fi;
#endif
#ifndef BREAK_ORDER
        nameRunning(w);
#endif
#ifndef BREAK_DROP
        /* Each running block has an operation, which is cancelled. */
        atomic {
            k = next[w];
            assert(!mayBeNamed(w) || isNamed[w]);
            k = 0
        }
#endif
    }
    atomic {
        for (b : 0 .. BLOCKS - 1) {
            if
            :: isReady[b] && !isOperation[b] -> isDropped[b] = true
            :: else
            fi
        }
#ifdef BREAK_DROP
        for (b : 0 .. BLOCKS - 1) {
            if
            :: inRing[b] && !isOperation[b] && runs[b] == 0 -> isDropped[b] = true
            :: else
            fi
        }
#endif
        isOver[1] = true;
        unlock()
    }
}
#else
proctype Monitor() {
    byte w, k, n;
    if
    :: w = 0
    :: w = 1
    fi;
    lock();
    if
    :: isRegistered[w] ->
        returnRest(w);
        atomic {                /* the ended entries leave, and are released */
#ifdef BREAK_IN_USE             /* also the entry that the owner runs */
            n = next[w];
#else
            n = (next[w] > 0 -> next[w] - 1 : 0);
#endif
            k = departed[w];
            do
            :: k < n ->
                assert(inRing[entry(w, k)] && !isReleased[entry(w, k)]);
                inRing[entry(w, k)] = false;
                isReleased[entry(w, k)] = true;
                k++
            :: else -> break
            od;
            departed[w] = (departed[w] < n -> n : departed[w]);
            k = 0; n = 0
        }
    :: else
    fi;
    isOver[1] = true;
    unlock()
}
#endif

init {
    byte b;
    atomic {
        inRing[0] = true; inRing[1] = true;
        isReady[0] = true; isReady[1] = true;
        run Worker(0);
        run Worker(1);
        run Producer();
        run Namer();
#ifdef CANCEL
        run Canceller()
#else
        run Monitor()
#endif
    }
    /* If the queue never becomes empty, this process waits here for ever, which is an invalid end
     * state. */
    allOver && running == 0 && !isRegistered[0] && !isRegistered[1];
    (isReleased[0] && isReleased[1] && isReleased[2]);
    atomic {
        for (b : 0 .. BLOCKS - 1) {
            assert(isDropped[b] -> (runs[b] == 0 && ends[b] == 0) : (runs[b] == 1 && ends[b] == 1))
        }
        assert(timesEmpty == 1)
    }
}
