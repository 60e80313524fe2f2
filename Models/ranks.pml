/* Ranks: every cycle is reported when it is closed. See TopologicalOrder.md.
 *
 * Threads add edges among three operations, 0, 1 and 2. An edge runs from a dependency to its
 * dependent. Ranks must not fall along a checked edge. An edge that disagrees with the ranks stays
 * unchecked, and no search follows it, until its own search has moved operations. A search marks
 * the operations that it visits. A search that meets the mark of another search gives up, takes the
 * lock `contention`, and begins again. With that lock it waits for marks.
 *
 * By default three threads add 0 -> 1, 1 -> 2 and 2 -> 0, which together form a cycle. The ranks
 * are in any order. Exactly one thread must report the cycle. Other scenarios, by macros:
 *   TWO    The edge 1 -> 2 exists. One thread adds 1 -> 0, another adds 2 -> 1, which closes a
 *          cycle. With BREAK_UNCHECKED the first search follows the other thread's edge before it
 *          is checked, and moves 2 below 1.
 *   FIVE   A cycle of 0 and 1 was reported and broken. Its edge 1 -> 0 remains, against the ranks;
 *          1 -> 2 exists, too. A thread checks the remaining edge while another adds 2 -> 1, which
 *          closes a cycle. With BREAK_UNCHECKED no thread reports that cycle, after
 *          five steps.
 *   AGAIN  The cycle of 0 and 1 is closed and reported, then broken. The edge that closed it is
 *          part of a second cycle, which two threads close. With BREAK_LEFT_OUT the later searches
 *          do not follow that edge.
 *
 * Sources:
 *   Operations/Dependencies/Order
 *   Operations/Dependencies/Rank.swift
 */

#define N 3
#define NONE      0
#define UNCHECKED 1
#define CHECKED   2

byte rank[N];
byte marker[N];                 /* the search that has marked the operation, or 0 */
byte edge[9];                   /* from * N + to; both locks guard it */
bool locked[N];
bool contention;                /* the lock of searches that have met a mark */
byte reported;
byte unfinishedThreads;

#define kind(f, t)    edge[(f) * N + (t)]
#ifdef BREAK_UNCHECKED          /* searches follow unchecked edges, too */
#define follows(f, t) (kind(f, t) != NONE)
#else
#define follows(f, t) (kind(f, t) == CHECKED)
#endif

#define lock(o)   atomic { !locked[o] -> locked[o] = true }
#define unlock(o) locked[o] = false

inline lockBoth(f, t) {
    if
    :: f < t -> lock(f); lock(t)
    :: else -> lock(t); lock(f)
    fi
}

/* A search begins. (The rule that a search must not read past a rank with another mark needs more
 * than three operations to show an effect.) */
inline begin(o) {
    if
    :: isPatient -> atomic { marker[o] == 0 -> marker[o] = me }
    :: else -> atomic {
            if
            :: marker[o] == 0 -> marker[o] = me
            :: else -> isContended = true
            fi
        }
    fi
}

/* Looks at the third operation from `o`, whose lock is held. `isUp`: along the edges. */
inline lookAtThird(isUp) {
    atomic {
        isBeyond = (isUp -> (rank[third] > rank[from]) : (rank[third] < rank[to]));
        if
        :: marker[third] == me -> isVisited = true
        :: marker[third] != 0 && marker[third] != me -> isContended = true
        :: marker[third] == 0 && isBeyond -> bound = rank[third]
        :: marker[third] == 0 && !isBeyond ->
            marker[third] = me;
            isVisited = true
        fi;
        isBeyond = false
    }
}

/* Walks the edges of one operation in one hold of its lock; once more if another search has marked
 * the operation, and this search waits. */
inline walk(o, other, isUp) {
    do
    :: lock(o);
        if
        :: (isUp -> follows(o, other) : follows(other, o)) -> closes = true
        :: else
        fi;
        if
        :: o != third && (isUp -> follows(o, third) : follows(third, o)) -> lookAtThird(isUp)
        :: else
        fi;
        unlock(o);
        if
        :: isContended && isPatient -> isContended = false; marker[third] == 0
        :: else -> break
        fi
    od
}

inline walkUp() {
    walk(to, from, true);
    if
    :: !isContended && isVisited -> walk(third, from, true)
    :: else
    fi
}

inline walkDown() {
    walk(from, to, false);
    if
    :: !isContended && isVisited -> walk(third, to, false)
    :: else
    fi
}

inline unmark() {
    if
    :: marker[third] == me -> marker[third] = 0
    :: else
    fi;
    if
    :: marker[from] == me -> marker[from] = 0
    :: else
    fi;
    if
    :: marker[to] == me -> marker[to] = 0
    :: else
    fi
}

/* No other thread uses the rank of a marked operation, so the order of the stores does not
 * matter. */
inline moveUp() {
    atomic {
        spacing = (bound == 0 -> 4 : (bound - rank[from]) / (isVisited -> 3 : 2));
        if
        :: spacing == 0 ->       /* no space between the ranks: all get the same rank */
            rank[to] = rank[from];
            if
            :: isVisited && rank[third] < rank[from] -> rank[third] = rank[from]
            :: else
            fi
        :: else ->
            if               /* equal ranks stay equal */
            :: isVisited && rank[third] == rank[to] -> rank[third] = rank[from] + spacing
            :: isVisited && rank[third] != rank[to] -> rank[third] = rank[from] + 2 * spacing
            :: else
            fi;
            rank[to] = rank[from] + spacing
        fi
    }
}

inline moveDown() {
    atomic {
        spacing = (bound == 0 -> 4 : (rank[to] - bound) / (isVisited -> 3 : 2));
        if
        :: spacing == 0 ->
            rank[from] = rank[to];
            if
            :: isVisited && rank[third] > rank[to] -> rank[third] = rank[to]
            :: else
            fi
        :: else ->
            if
            :: isVisited && rank[third] == rank[from] -> rank[third] = rank[to] - spacing
            :: isVisited && rank[third] != rank[from] -> rank[third] = rank[to] - 2 * spacing
            :: else
            fi;
            rank[from] = rank[to] - spacing
        fi
    }
}

/* The edge closes a cycle, and stays. All operations after the edge move up to one rank. */
inline level() {
    isVisited = false;
    walkUp();
    if
    :: isContended
    :: else -> atomic {
            rank[to] = rank[from];
            if
            :: isVisited && rank[third] < rank[from] -> rank[third] = rank[from]
            :: else
            fi
        }
    fi
}

inline markChecked() {
    lockBoth(from, to);
    if
    :: kind(from, to) != NONE -> kind(from, to) = CHECKED
    :: else
    fi;
    unlock(from);
    unlock(to)
}

inline attempt() {
    begin(to);
    if
    :: isContended
    :: else -> begin(from)
    fi;
    if
    :: isContended
    :: !isContended && rank[from] < rank[to] -> isOver = true
    :: else ->
        /* Either side may be the smaller one. */
        if
        :: walkUp(); isUpward = true
        :: walkDown(); isUpward = false
        fi;
        if
        :: isContended
        :: !isContended && closes ->
#ifndef BREAK_LEFT_OUT          /* the edge stays unchecked, even after its cycle was broken */
            level();
#endif
            if
            :: isContended
            :: else -> reported++; isOver = true
            fi
        :: else ->
            if
            :: isUpward -> moveUp()
            :: else -> moveDown()
            fi;
            isOver = true
        fi
    fi;
    if
#ifdef BREAK_LEFT_OUT
    :: isOver && !closes -> markChecked()
#elif defined(BREAK_UNMARK_FIRST)
    :: false
#else
    :: isOver -> markChecked()
#endif
    :: else
    fi;
    unmark();
#ifdef BREAK_UNMARK_FIRST       /* the edge is checked after the marks were taken back */
    if
    :: isOver -> markChecked()
    :: else
    fi;
#endif
    atomic { closes = false; isVisited = false; bound = 0; spacing = 0; isUpward = false }
}

inline check() {
    attempt();
    if
    :: isContended ->
        isContended = false;
        lock_contention();
        attempt();
        contention = false
    :: else
    fi;
    assert(isOver);
    isOver = false;
    isPatient = false
}

inline lock_contention() {
    atomic { !contention -> contention = true; isPatient = true }
}

#define hasSuccessors(o) (kind(o, 0) != NONE || kind(o, 1) != NONE || kind(o, 2) != NONE)

inline add() {
    lockBoth(from, to);
    atomic { isInOrder = (marker[from] == 0); low = rank[from] };
#ifdef BREAK_MARKED             /* the fast path ignores marks */
    isInOrder = true;
#endif
    atomic {
#ifndef BREAK_MARKED
        isInOrder = isInOrder && (marker[to] == 0);
#endif
        high = rank[to]
    };
    if
    :: isInOrder && low >= high && !hasSuccessors(to) ->
        /* The dependent has no dependents: it moves at once, unless a search has marked it
         * meanwhile. */
        atomic {
            if
            :: marker[to] == 0 && rank[to] == high -> rank[to] = low + 4
            :: else -> isInOrder = false
            fi
        }
    :: else -> isInOrder = isInOrder && low < high
    fi;
    kind(from, to) = (isInOrder -> CHECKED : UNCHECKED);
    unlock(from);
    unlock(to);
    atomic { low = 0; high = 0 };
    if
    :: isInOrder -> isInOrder = false
    :: else -> check()
    fi
}

proctype Adder(byte from, to, me) {
    byte third = N - from - to, low, high, bound, spacing;
    bool isInOrder, isContended, isPatient, isOver, closes, isVisited, isUpward, isBeyond;

    add();
    unfinishedThreads--
}

/* Checks an existing unchecked edge. */
proctype Checker(byte from, to, me) {
    byte third = N - from - to, bound, spacing;
    bool isContended, isPatient, isOver, closes, isVisited, isUpward, isBeyond;

    check();
    unfinishedThreads--
}

init {
    byte expected = 1;
    atomic {
        rank[0] = 60; rank[1] = 120; rank[2] = 180;
#ifdef TWO
        kind(1, 2) = CHECKED;
        unfinishedThreads = 2;
        run Adder(1, 0, 1);
        run Adder(2, 1, 2);
#elif defined(FIVE)
        kind(1, 2) = CHECKED;
        kind(1, 0) = UNCHECKED;
        unfinishedThreads = 2;
        run Checker(1, 0, 1);
        run Adder(2, 1, 2);
#elif defined(AGAIN)
        kind(0, 1) = CHECKED;
        unfinishedThreads = 1;
        run Adder(1, 0, 1)
    };
    atomic {
        unfinishedThreads == 0 && reported == 1 ->
        kind(0, 1) = NONE;
        expected = 2;
        unfinishedThreads = 2;
        run Adder(0, 2, 2);
        run Adder(2, 1, 3);
#else
        if
        :: true
        :: rank[1] = 180; rank[2] = 120
        :: rank[0] = 120; rank[1] = 60
        :: rank[0] = 120; rank[1] = 180; rank[2] = 60
        :: rank[0] = 180; rank[1] = 60; rank[2] = 120
        :: rank[0] = 180; rank[2] = 60
        fi;
        unfinishedThreads = 3;
        run Adder(0, 1, 1);
        run Adder(1, 2, 2);
        run Adder(2, 0, 3);
#endif
    }
    unfinishedThreads == 0;
    assert(reported == expected);
    assert(!contention && marker[0] == 0 && marker[1] == 0 && marker[2] == 0);
    /* Every edge is checked, and agrees with the ranks. */
    assert(kind(0, 1) != UNCHECKED && kind(1, 2) != UNCHECKED && kind(2, 0) != UNCHECKED);
    assert(kind(1, 0) != UNCHECKED && kind(2, 1) != UNCHECKED && kind(0, 2) != UNCHECKED);
    assert(!(kind(0, 1) && rank[0] > rank[1]) && !(kind(1, 0) && rank[1] > rank[0]));
    assert(!(kind(1, 2) && rank[1] > rank[2]) && !(kind(2, 1) && rank[2] > rank[1]));
    assert(!(kind(0, 2) && rank[0] > rank[2]) && !(kind(2, 0) && rank[2] > rank[0]))
}
