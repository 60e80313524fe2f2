/* Ranks: no cycle is closed unnoticed. Scheduling.md, "Edges", "Cycles".
 *
 * Three operations with ranks 0, 1, 2, and three threads that add the edges a -> b, b -> c, c -> a (all six
 * ways to lay the ranks over them), which together are a cycle: at least one thread must notice.
 * An edge runs from a dependency to its dependent, and ranks shall rise along it.
 *
 * Removing edges is left out: it closes no cycle.
 */

#define N 3

byte rank[N];
bool edge[9];                   /* from * N + to, under the locks of both */
byte epoch;                     /* odd while a search may re-rank */
bool searchLocked;
bool noticed;
byte threadsAtIt;

#define has(f, t)    edge[(f) * N + (t)]
#define saw(f, t)    seen[(f) * N + (t)]
#define agrees       (rank[from] < rank[to])

/* With the lock of the search: looks at the edges, one at a time and in any order, then either finds the
 * way back from `to` to `from`, or moves what lies between the two (Pearce and Kelly). */
inline search() {
#ifndef BREAK_LATE_EPOCH
    epoch++;
#endif
    /* Read the edges. Only those among operations whose rank lies between the two are followed. */
    do
    :: !(read & 1)  -> atomic { read = read | 1;  saw(0, 1) = has(0, 1) }
    :: !(read & 2)  -> atomic { read = read | 2;  saw(1, 0) = has(1, 0) }
    :: !(read & 4)  -> atomic { read = read | 4;  saw(0, 2) = has(0, 2) }
    :: !(read & 8)  -> atomic { read = read | 8;  saw(2, 0) = has(2, 0) }
    :: !(read & 16) -> atomic { read = read | 16; saw(1, 2) = has(1, 2) }
    :: !(read & 32) -> atomic { read = read | 32; saw(2, 1) = has(2, 1) }
    :: read == 63 -> break
    od;
    read = 0;
    /* The third operation, and how it hangs together with the two. */
    atomic {
        third = N - from - to;
        lies = (rank[to] < rank[third] && rank[third] < rank[from]);
        isBehind = lies && saw(to, third);
        isBefore = lies && saw(third, from);
        closes = saw(to, from) || (isBehind && isBefore);
        saw(0, 1) = 0; saw(1, 0) = 0; saw(0, 2) = 0; saw(2, 0) = 0; saw(1, 2) = 0; saw(2, 1) = 0
    }
#ifdef BREAK_LATE_EPOCH         /* odd only when the ranks change */
    epoch++;
#endif
    if
    :: closes -> noticed = true
    :: else ->
        /* First what leads to `from`, then what `to` leads to, each in its old order, in the old places. */
        atomic { low = rank[to]; high = rank[from]; middle = (lies -> rank[third] : 0) };
        if
        :: isBefore -> rank[third] = low; rank[from] = middle; rank[to] = high
        :: isBehind -> rank[from] = low; rank[to] = middle; rank[third] = high
        :: else -> rank[from] = low; rank[to] = high
        fi
    fi;
    atomic { closes = false; isBefore = false; isBehind = false; lies = false };
    atomic { third = 0; low = 0; high = 0; middle = 0 }
}

/* The edge goes in, or is looked at again, while no search re-ranks. */
inline slowly() {
    atomic { !searchLocked -> searchLocked = true };
    if
    :: agrees -> isSearched = false     /* it agrees (again, or by now): nothing to do but link it */
    :: else -> search(); isSearched = true
    fi;
#ifndef BREAK_LINK_OUTSIDE
    has(from, to) = true;
#endif
    if
    :: isSearched -> epoch++
    :: else
    fi;
    searchLocked = false;
#ifdef BREAK_LINK_OUTSIDE       /* the edge is linked after the search was left */
    has(from, to) = true;
#endif
    isSearched = false
}

proctype Adder(byte from, to) {
    byte before, after, read, third, low, high, middle;
    bool seen[9], lies, isBehind, isBefore, closes, isSearched, isInOrder;

    before = epoch;
    low = rank[from];
    high = rank[to];
    isInOrder = low < high;
    atomic { low = 0; high = 0 };
    if
#ifdef BREAK_ODD                /* a search that is under way does not matter, if the epoch stays */
    :: isInOrder ->
#else
    :: !(before & 1) && isInOrder ->
#endif
#ifdef BREAK_ORDER              /* the second look at the epoch may come before the edge is seen */
        after = epoch;
        has(from, to) = true;
#else
        has(from, to) = true;
        after = epoch;
#endif
        if
#ifdef BREAK_EPOCH              /* no second look at the epoch */
        :: true
#else
        :: after == before
        :: else -> slowly()
#endif
        fi
    :: else -> slowly()
    fi;
    threadsAtIt--
}

init {
    atomic {
        if
        :: rank[0] = 0; rank[1] = 1; rank[2] = 2
        :: rank[0] = 0; rank[1] = 2; rank[2] = 1
        :: rank[0] = 1; rank[1] = 0; rank[2] = 2
        :: rank[0] = 1; rank[1] = 2; rank[2] = 0
        :: rank[0] = 2; rank[1] = 0; rank[2] = 1
        :: rank[0] = 2; rank[1] = 1; rank[2] = 0
        fi;
        threadsAtIt = 3;
        run Adder(0, 1);
        run Adder(1, 2);
        run Adder(2, 0)
    }
    threadsAtIt == 0;
    assert(noticed);
    assert(!(epoch & 1) && !searchLocked);
    assert(rank[0] != rank[1] && rank[1] != rank[2] && rank[0] != rank[2])
}
