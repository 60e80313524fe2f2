/* Batches: who runs an operation that a worker has claimed together with others.
 * QueuesAndBatches.md.
 *
 * Two workers claim from one queue of width two, in batches of up to three, out of five operations: 0, 1
 * and 2 are there at the beginning; 0 makes 3 ready and 3 makes 4 ready (a chain, appended to the
 * worker's batch or filed). The monitor cuts whichever batch it likes, once or twice. Chosen by macros, to keep
 * the searches small:
 *   LATER      before its turn comes, operation 1 gets a dependency, which is over some time later and
 *              files it anew
 *   ATTENTION  something better comes, so an owner gives back the rest of its batch by itself
 *
 * The queue's lock is a variable here, not an atomic block, since much happens without it.
 */

#define OPERATIONS  5
#define CAPACITY    3
#define NONE        7
#if defined(LATER) || defined(ATTENTION)
#define CUTS        1
#else
#define CUTS        2
#endif
#define LATE        1           /* the operation that gets a late dependency */

mtype = { waiting, filed, finished };

/* The words */
mtype phase[OPERATIONS];
bool  dependencyIsLeft;         /* of LATE */
bool  freed[OPERATIONS];
#define touch(o)  assert(!freed[o])

/* QueueState */
bool  queueLocked;
bool  inRing[OPERATIONS], inList[OPERATIONS];
byte  slotsUsed;

/* Of each worker: its cursor, which is one atomic, and its entries */
byte  next[2], end[2];
byte  entries[6];               /* three of each */
bool  hasBatch[2];              /* under the queue's lock: the monitor may look at it */
bool  attention;

/* What is counted to be checked */
byte  runs[OPERATIONS];

#define entry(w, i)   entries[(w) * CAPACITY + (i)]
#define take(lock)    atomic { !lock -> lock = true }
#define leave(lock)   lock = false
#define successor(o)  (o == 0 -> 3 : (o == 3 -> 4 : NONE))
#define allFinished   (phase[0] == finished && phase[1] == finished && phase[2] == finished \
                       && phase[3] == finished && phase[4] == finished)
#define ringIsEmpty   (!inRing[0] && !inRing[1] && !inRing[2] && !inRing[3] && !inRing[4])
#define isRunnable    (inList[0] || inList[1] || inList[2] || inList[3] || inList[4])

/* Back to the list, with the queue's lock held. */
inline giveBack(o) {
    touch(o);
    assert(phase[o] != finished);
    assert(inRing[o] && !inList[o]);
    inList[o] = true
}

proctype Worker(byte me) {
    byte o = NONE;              /* the operation in hand */
    bool mine[OPERATIONS];      /* what has to be folded: the operations that it ran itself */
    byte i, e;
    bool hasSlot;

    do
    :: take(queueLocked);
        /* One hold: fold, give the slot back, claim anew. */
        atomic {
            if
            :: hasBatch[me] ->
                hasBatch[me] = false;
#ifdef BREAK_STRIKE             /* the fold goes by the entries, with those that could not be started */
                for (i : 0 .. CAPACITY - 1) {
                    if
                    :: i < next[me] && i < end[me] -> mine[entry(me, i)] = true
                    :: else
                    fi
                }
#endif
                for (i : 0 .. OPERATIONS - 1) {
                    if
                    :: mine[i] ->
                        touch(i);
                        assert(phase[i] == finished && inRing[i]);
                        inRing[i] = false;
                        freed[i] = true;        /* the ring kept it */
                        mine[i] = false
                    :: else
                    fi
                }
                assert(hasSlot && slotsUsed > 0);
                hasSlot = false;
                slotsUsed--
            :: else
            fi;
            e = 0;
            for (i : 0 .. OPERATIONS - 1) {
                if
                :: inList[i] && e < CAPACITY && slotsUsed < 2 ->
                    touch(i);
                    inList[i] = false;
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
                hasBatch[me] = true;
                hasSlot = true;
                slotsUsed++;
                assert(slotsUsed <= 2)
            :: else
            fi;
            e = 0;
            leave(queueLocked)
        }
        if
        :: !hasSlot -> (isRunnable && slotsUsed < 2) || allFinished;
            if
            :: allFinished -> break
            :: else
            fi
        :: else
        fi;

        /* Run the batch. */
        do
        :: hasSlot ->
            if
            :: attention ->     /* something better has come: the owner gives the rest back itself */
                take(queueLocked);
                atomic {
                    attention = false;
                    for (i : 0 .. CAPACITY - 1) {
                        if
                        :: next[me] <= i && i < end[me] -> giveBack(entry(me, i))
                        :: else
                        fi
                    }
                    i = 0;
                    if
                    :: end[me] > next[me] -> end[me] = next[me]
                    :: else
                    fi;
                    leave(queueLocked)
                }
            :: else
            fi;
            /* It adds one to next; what was there before is its own, if it lies before the end. */
#ifdef BREAK_CURSOR             /* next and end are two atomics */
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
                :: phase[o] == filed && !(o == LATE && dependencyIsLeft) ->
                    phase[o] = finished;
                    runs[o]++;
                    assert(runs[o] == 1);
                    mine[o] = true
                :: phase[o] == filed && o == LATE && dependencyIsLeft ->
                    phase[o] = waiting; /* struck out of the batch: who files it brings it anew */
                    o = NONE
                :: else -> o = NONE
                fi;
                i = 0
            }

            /* What it made ready: appended without the lock, or filed. */
            if
            :: o != NONE && successor(o) != NONE ->
                o = successor(o);
                atomic { touch(o); assert(phase[o] == waiting); phase[o] = filed };
                do
#ifdef BREAK_RESET              /* an empty batch begins at the front again, without the lock */
                :: next[me] >= end[me] && hasBatch[me] ->
                    entry(me, 0) = o;
                    atomic { next[me] = 0; end[me] = 1 }
                    break
#else
                :: end[me] < CAPACITY ->
                    e = end[me];
                    entry(me, e) = o;
                    atomic {    /* a compare-and-swap: it fails if the monitor has cut */
                        if
                        :: end[me] == e -> end[me]++; e = 0; break
                        :: else -> e = 0
                        fi
                    }
#endif
                :: true ->
                    take(queueLocked);
                    atomic { giveBack(o); leave(queueLocked) }
                    break
                od
            :: else
            fi;
            o = NONE
        :: else -> break
        od
    od
}

/* Finds that a batch has not moved, and cuts its end down to next. */
active proctype Monitor() {
    byte w, n, e, i;
    byte copy[CAPACITY];
    byte cuts = CUTS;
    do
    :: cuts > 0 && !allFinished ->
        cuts--;
        if
        :: w = 0
        :: w = 1
        fi;
#ifndef BREAK_COPY_BEFORE_LOCK  /* cursor and entries are read before the lock keeps the batch in place */
        take(queueLocked);
#endif
        if
        :: hasBatch[w] ->
            atomic { n = next[w]; e = end[w] }
#ifndef BREAK_COPY_AFTER_CUT    /* the entries are read when the owner may append there already */
            i = n;
            do
            :: i < e -> copy[i] = entry(w, i); i++
            :: else -> break
            od;
#endif
#ifdef BREAK_COPY_BEFORE_LOCK
            take(queueLocked);
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
#ifdef BREAK_COPY_AFTER_CUT
                copy[i] = entry(w, i);
#endif
                atomic { giveBack(copy[i]); i++ }
            :: else -> break
            od;
            leave(queueLocked)
        :: else ->
#ifndef BREAK_COPY_BEFORE_LOCK
            leave(queueLocked)
#else
            skip
#endif
        fi;
        atomic { w = 0; n = 0; e = 0; i = 0; copy[0] = 0; copy[1] = 0; copy[2] = 0 }
    :: else -> break
    od
}

#ifdef LATER
/* A dependency of LATE: added late, if at all, and over some time later. */
active proctype Dependency() {
    bool isMine;
    if
    :: atomic { phase[LATE] == filed && !freed[LATE] -> dependencyIsLeft = true };
        take(queueLocked);
        atomic {                /* it takes LATE out of the list, if it is there */
            if
            :: inList[LATE] && phase[LATE] == filed -> inList[LATE] = false; phase[LATE] = waiting
            :: else
            fi;
            leave(queueLocked)
        }
        atomic {
            dependencyIsLeft = false;
            if
            :: phase[LATE] == waiting -> phase[LATE] = filed; isMine = true
            :: else
            fi
        }
        if
        :: isMine ->
            take(queueLocked);
            atomic { giveBack(LATE); leave(queueLocked) }
        :: else
        fi
    :: true
    fi
}
#endif

#ifdef ATTENTION
active proctype Better() {
    attention = true
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            inRing[i] = true;
            inList[i] = (i < 3);
            phase[i] = (i < 3 -> filed : waiting)
        }
        i = 0;
        run Worker(0);
        run Worker(1)
    }
    /* Each was run, once; the ring is empty, the slots are back. Who waits here for ever is an invalid end. */
    allFinished && slotsUsed == 0 && ringIsEmpty;
    assert(!hasBatch[0] && !hasBatch[1]);
    assert(!isRunnable)
}
