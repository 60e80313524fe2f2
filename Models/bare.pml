/* Bare blocks: who runs a block for which no operation was made, and who ends it, while other
 * threads name the block, take it back or drop it. See BareBlocks.md.
 *
 * Two workers claim from one queue of width two, in batches of up to two blocks. Of the three
 * blocks, 0 and 1 are in the queue at the beginning, and 2 is added by a producer, as a bare block
 * if no operation is in the queue. A thread names all blocks at some moment. A second thread takes
 * back the rest of a batch, as the monitor thread does. Chosen by a macro, to keep the searches
 * small:
 *   CANCEL  in place of the second thread, a thread drops the blocks that have not begun
 *
 * The queue's lock is a variable and not an atomic block, because much happens without it.
 *
 * Sources:
 *   Operations/Scheduling/BareBatch.swift
 *   Operations/Scheduling/BareBlocks.swift
 *   Operations/Scheduling/OperationQueue+BareBlocks.swift
 *   Operations/Scheduling/QueueState+BareBlocks.swift
 */

#define BLOCKS    3
#define CAPACITY  2
#define NONE      7

/* Guarded by the queue's lock */
bool queueLocked;
bool pending[BLOCKS];           /* the bare blocks that no worker has claimed */
bool isReady[BLOCKS];           /* the operations on the ready list */
short bareCount, ringCount;     /* the blocks, and the operations, that have not left */
byte running;                   /* the width slots that are taken */
bool isRegistered[2], holdsSlot[2];
byte left[2];                   /* the ended blocks of a batch that have left the queue */
byte operation[2];              /* the operation of the running block, for the owner */
bool isProduced;
byte timesEmpty;                /* how often the queue has become empty */

bool takenBack[6];              /* the blocks that the two other threads have taken */

/* Of each worker: the cursor, which is one atomic, and the slots */
byte ended[2], begun[2], end[2];
bool isNamed[2];
byte slots[4];

/* What the assertions check */
byte runs[BLOCKS], ends[BLOCKS];
bool isReleased[BLOCKS];        /* the owner has released the closure */
bool isDropped[BLOCKS];
bool isOver[2];                 /* the threads beside the workers have ended */

#define slot(w, i)    slots[(w) * CAPACITY + (i)]
#define taken(t, b)   takenBack[(t) * BLOCKS + (b)]
#define lock()        atomic { !queueLocked -> queueLocked = true }
#define unlock()      queueLocked = false
#define hasPending    (pending[0] || pending[1] || pending[2])
#define hasReady      (isReady[0] || isReady[1] || isReady[2])
#define isEmpty       (bareCount == 0 && ringCount == 0)
#define allOver       (isProduced && isOver[0] && isOver[1] && isEmpty)

/* `count` blocks or operations have left the queue. The caller holds the lock. */
inline departure(count) {
    assert(bareCount >= 0 && ringCount >= 0);
    if
    :: isEmpty && count > 0 -> timesEmpty++
    :: else
    fi
}

/* The ended blocks of a batch leave the queue. The caller holds the lock. */
inline removeEnded(w) {
    if
#ifndef BREAK_COUNT             /* counts the end of a named block, which its operation counts */
    :: isNamed[w] -> k = begun[w] - 1
#endif
    :: else -> k = ended[w]
    fi;
    bareCount = bareCount - (k - left[w]);
    n = k - left[w];
    left[w] = k;
    departure(n)
}

/* Takes back the blocks of a batch that have not begun. With `naming`, the running block gets an
 * operation. The caller holds the lock. The rest is in `taken`. */
inline takeBack(w, naming, thread) {
#if defined(BREAK_NAME) || defined(BREAK_CUT)   /* reads and writes the cursor in two steps */
    oldEnded = ended[w]; oldBegun = begun[w]; oldEnd = end[w];
    atomic {
#else
    atomic {                    /* a compare-and-swap, in a loop that succeeds at some time */
        oldEnded = ended[w]; oldBegun = begun[w]; oldEnd = end[w];
#endif
#ifdef BREAK_CUT
        oldEnded = ended[w];
#elif defined(BREAK_NAME)
        oldBegun = begun[w]; oldEnd = end[w];
#endif
        named = naming && !isNamed[w] && oldEnded < oldBegun;
        if
        :: named || oldBegun < oldEnd ->
            end[w] = oldBegun;
            if
            :: named -> isNamed[w] = true
            :: else
            fi
        :: else
        fi
    }
    k = oldBegun;
    do
    :: k < oldEnd -> taken(thread, slot(w, k)) = true; k++
    :: else -> break
    od;
    if
    :: named ->
        /* Copies the closure of the running block, which must be alive. */
        assert(!isReleased[slot(w, oldBegun - 1)])
    :: else
    fi
}

/* Makes operations for all blocks, or drops those that have not begun. The caller holds the
 * lock. */
inline nameOrDrop(thread) {
    for (b : 0 .. BLOCKS - 1) {
        if
        :: pending[b] -> pending[b] = false; taken(thread, b) = true
        :: else
        fi
    }
    for (w : 0 .. 1) {
        if
        :: isRegistered[w] ->
            takeBack(w, true, thread);
            if
            :: named ->
                operation[w] = slot(w, oldBegun - 1);
                bareCount--;
                ringCount++;
                holdsSlot[w] = false    /* the operation has the slot now */
            :: else
            fi
        :: else
        fi
    }
}

proctype Worker(byte me) {
    byte k, n, b, o = NONE;
    bool isNamedNow;

    do
    :: lock();
        atomic {
            if
            :: isRegistered[me] ->
                isRegistered[me] = false;
                if
                :: holdsSlot[me] -> running--; holdsSlot[me] = false
                :: else
                fi;
                removeEnded(me)
            :: else
            fi;
            unlock()
        }
        atomic {                /* releases the closures of the batch, without the lock */
            for (k : 0 .. CAPACITY - 1) {
                if
                :: k < ended[me] ->
                    assert(!isRegistered[me]);
                    isReleased[slot(me, k)] = true
                :: else
                fi
            }
            ended[me] = 0; begun[me] = 0; end[me] = 0; left[me] = 0; k = 0
        }
        lock();
        atomic {
            o = NONE;
            n = 0;
            if
            :: hasPending && running < 2 ->
                assert(ringCount == 0);
                for (b : 0 .. BLOCKS - 1) {
                    if
                    :: pending[b] && n < CAPACITY ->
                        pending[b] = false;
                        slot(me, n) = b;
                        n++
                    :: else
                    fi
                }
                ended[me] = 0; begun[me] = 0; end[me] = n; isNamed[me] = false;
                left[me] = 0;
                isRegistered[me] = true;
                holdsSlot[me] = true;
                running++
            :: hasReady && running < 2 ->
                if
                :: isReady[0] -> o = 0
                :: !isReady[0] && isReady[1] -> o = 1
                :: else -> o = 2
                fi;
                isReady[o] = false;
                running++
            :: else
            fi;
            b = 0; k = 0;
            unlock()
        }
        if
        :: o != NONE ->         /* runs an operation, which leaves by itself */
            atomic { runs[o]++; ends[o]++ };
            lock();
            atomic { ringCount--; running--; departure(1); o = NONE; unlock() }
        :: o == NONE && n == 0 -> (hasPending || hasReady) && running < 2 || allOver;
            if
            :: allOver -> break
            :: else
            fi
        :: else ->
            n = 0;
            do
            :: atomic {         /* a compare-and-swap: begins the next block */
                    if
                    :: begun[me] < end[me] -> o = slot(me, begun[me]); begun[me]++
                    :: else -> o = NONE; break
                    fi
                };
                atomic { assert(!isReleased[o]); runs[o]++ };
#ifdef BREAK_RELEASE            /* releases the closure before the block has ended */
                isReleased[o] = true;
#endif
                atomic { isNamedNow = isNamed[me]; ended[me]++ };
                if
                :: isNamedNow ->
#ifndef BREAK_UNLOCKED          /* looks for the operation without the lock */
                    lock();
#endif
                    atomic {
                        assert(operation[me] == o);
                        operation[me] = NONE
#ifndef BREAK_UNLOCKED
                        ; unlock()
#endif
                    }
                    ends[o]++;
                    lock();
                    atomic { ringCount--; running--; departure(1); unlock() }
                :: else -> ends[o]++
                fi
            od;
            isNamedNow = false
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
        if
        :: ringCount == 0 -> pending[2] = true; bareCount++
        :: else -> isReady[2] = true; ringCount++
        fi;
        isProduced = true;
        unlock()
    }
}

proctype Namer() {
    byte b, w, k, oldEnded, oldBegun, oldEnd;
    bool named;
    lock();
    nameOrDrop(0);
    atomic {
        for (b : 0 .. BLOCKS - 1) {
            if
            :: taken(0, b) ->
                taken(0, b) = false; isReady[b] = true; bareCount--; ringCount++
            :: else
            fi
        }
        isOver[0] = true;
        unlock()
    }
}

#ifdef CANCEL
proctype Dropper() {
    byte b, w, k, n, oldEnded, oldBegun, oldEnd;
    bool named;
    lock();
    nameOrDrop(1);
    unlock();
    for (b : 0 .. BLOCKS - 1) {
        if
        :: taken(1, b) -> isReleased[b] = true; isDropped[b] = true; n++
        :: else
        fi
    }
    lock();
    atomic {
#ifndef BREAK_DROP              /* the dropped blocks never leave */
        bareCount = bareCount - n;
#endif
        departure(n);
        isOver[1] = true;
        unlock()
    }
}
#else
proctype Monitor() {
    byte b, w, k, n, oldEnded, oldBegun, oldEnd;
    bool named;
    if
    :: w = 0
    :: w = 1
    fi;
    lock();
    if
    :: isRegistered[w] ->
        takeBack(w, false, 1);
        atomic {
            for (b : 0 .. BLOCKS - 1) {
                if
                :: taken(1, b) -> taken(1, b) = false; pending[b] = true
                :: else
                fi
            }
            removeEnded(w)
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
        pending[0] = true; pending[1] = true;
        bareCount = 2;
        operation[0] = NONE; operation[1] = NONE;
        run Worker(0);
        run Worker(1);
        run Producer();
        run Namer();
#ifdef CANCEL
        run Dropper()
#else
        run Monitor()
#endif
    }
    /* If the queue never becomes empty, this process waits here for ever, which is an invalid end
     * state. */
    allOver && running == 0;
    atomic {
        for (b : 0 .. BLOCKS - 1) {
            assert(isDropped[b] -> (runs[b] == 0 && ends[b] == 0) : (runs[b] == 1 && ends[b] == 1))
        }
        assert(timesEmpty == 1)
    }
}
