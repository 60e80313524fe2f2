/* Cycles of dependencies: three threads link the edges of a cycle of three operations, another one
 * adds the first operation to a queue, and a timer looks for cycles. See Cycles.md.
 *
 * With PLACE, operation 2 waits for operation 0 not because of an edge, but because it enters a
 * queue behind a barrier, or in a strict order, in which operation 0 waits before it.
 *
 * In every order of events the cycle has been found when nothing is left to do.
 *
 * One atomic step is what a thread does while it holds the locks of two operations, or the lock of
 * the queue; the look takes the lock of one operation at a time.
 *
 * Sources:
 *   Operations/Dependencies/CycleSearch.swift
 *   Operations/Dependencies/CycleWatch.swift
 *   Operations/Dependencies/Suspicion.swift
 *   Operations/Waiting/CircleSearch.swift
 *   Operations/Waiting/CycleWatch+Looking.swift
 */

mtype = { idle, scheduled, looking, lookingAgain };

mtype phase = idle;
bool  isLinked[3];              /* operation i waits for operation i + 1 */
bool  isInQueue;                /* operation 0 */
bool  isFound;
byte  threads = 4;

#define next(i) ((i + 1) % 3)
#define previous(i) ((i + 2) % 3)

inline suspect() {
    do
    :: atomic { phase == idle -> phase = scheduled; break }
#ifdef BREAK_AGAIN              /* relies on the look that has begun */
    :: phase == looking -> break
#else
    :: atomic { phase == looking -> phase = lookingAgain; break }
#endif
    :: phase == scheduled || phase == lookingAgain -> break
    od
}

/* Links the edge from operation i to the next one. */
proctype Linker(byte i) {
    bool isSuspicious;
#ifdef PLACE
    bool isPlaced;
#ifdef BREAK_PLACE              /* reads whether its dependency is in the queue before it links */
    isPlaced = isLinked[2];
#endif
    atomic {
        isLinked[i] = true;
        /* Operation 0 is in the queue, so that another one may wait for it. */
        isSuspicious = i == 0 && isLinked[1]
    };
#ifndef BREAK_PLACE
    isPlaced = isLinked[2];
#endif
    isSuspicious = isSuspicious || (i == 1 && isLinked[0] && isPlaced)
#else
#ifdef BREAK_UNLOCKED           /* reads whether others wait before it takes the locks */
    isSuspicious = isLinked[previous(i)] && isLinked[next(i)];
    isLinked[i] = true
#else
    atomic {
        isLinked[i] = true;
        isSuspicious = isLinked[previous(i)] && isLinked[next(i)]
    }
#endif
#endif
    ;
    if
    :: isSuspicious -> suspect()
    :: else
    fi;
    threads--
}

proctype Enqueuer() {
    bool isSuspicious;
    atomic {
#ifdef PLACE
        isLinked[2] = true;
#endif
        isInQueue = true;
#ifdef BREAK_ENQUEUE            /* relies on the threads that link */
        isSuspicious = false
#else
#ifdef PLACE                    /* something depends on operation 2 */
        isSuspicious = isLinked[1]
#else
        isSuspicious = isLinked[0] && isLinked[2]
#endif
#endif
    };
    if
    :: isSuspicious -> suspect()
    :: else
    fi;
    threads--
}

/* The timer, and the look that it starts. */
proctype Watch() {
    byte place;
    bool isOpen;
    do
    :: phase == scheduled ->
#ifndef BREAK_LATE              /* enters the phase after it has read the queue and the edges */
        phase = looking;
#endif
        isOpen = isInQueue;
        place = 0;
        do
        :: isOpen && place < 3 -> isOpen = isLinked[place]; place++
        :: else -> break
        od;
        if
        :: isOpen -> isFound = true
        :: else
        fi;
#ifdef BREAK_LATE
        phase = looking;
#endif
#ifdef BREAK_IDLE               /* ends without a look at the phase */
        phase = idle
#else
        if
        :: atomic { phase == looking -> phase = idle }
        :: atomic { phase == lookingAgain -> phase = scheduled }
        fi
#endif
    :: threads == 0 && phase == idle -> break
    od
}

init {
    atomic {
#ifdef PLACE
        isInQueue = true;
#endif
        run Linker(0);
        run Linker(1);
#ifdef PLACE
        threads--;
#else
        run Linker(2);
#endif
        run Enqueuer();
        run Watch()
    }
    (_nr_pr == 1);
    assert(isFound)
}
