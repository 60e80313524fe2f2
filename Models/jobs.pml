/* Jobs that wait for one worker, in a list of its own, instead of in the pool. See WorkerThreads.md.
 *
 * Two processors, two workers. Worker 0 runs an item that adds job 0 to its list, and then computes
 * until that job has run: only the other worker can run it. Another thread adds jobs 1 and 2, which
 * continue a body that worker 0 ran last. Worker 1 runs an item, too, and may end it at any time.
 * The monitor thread, which helps after some milliseconds, is left out: without it, no job may be
 * left while a processor is idle.
 *
 * One atomic step is one hold of the lock of the pool or of a list, or one access to a word that is
 * read without a lock.
 *
 * Sources:
 *   OperationsRuntime/Workers/WorkerJobs.swift
 *   OperationsRuntime/Workers/WorkerPool.swift
 *   OperationsRuntime/Workers/PoolExecutor.swift
 */

#define CORES   2
#define WORKERS 2
#define JOBS    3

/* The pool */
byte  pending[JOBS], pendingCount;      /* a job is pending if its entry is 1 */
byte  activeCount = CORES;
bool  hasIdle;                          /* published; read without the lock */
bool  parked[WORKERS];
byte  semaphore[WORKERS];

/* The lists of the workers */
bool  inList[WORKERS * JOBS];
bool  isOpen[WORKERS];
byte  count[WORKERS];                   /* read without the lock */

byte  runs[JOBS];
bool  itemIsOver[WORKERS];

inline wakeOne() {
    if
    :: pendingCount > 0 && activeCount < CORES && parked[0] -> parked[0] = false; semaphore[0]++
    :: pendingCount > 0 && activeCount < CORES && !parked[0] && parked[1] ->
        parked[1] = false; semaphore[1]++
    :: else
    fi
}

inline submit(j) {
    atomic {
        assert(pending[j] == 0);
        pending[j] = 1;
        pendingCount++;
        wakeOne()
    }
}

/* Passes the jobs of a worker's list to the pool. */
inline share(v) {
    do
    :: atomic {
        if
        :: inList[v * JOBS] -> taken = 0; inList[v * JOBS] = false; count[v]--
        :: inList[v * JOBS + 1] -> taken = 1; inList[v * JOBS + 1] = false; count[v]--
        :: inList[v * JOBS + 2] -> taken = 2; inList[v * JOBS + 2] = false; count[v]--
        :: else -> break
        fi
        }
        submit(taken)
    od
}

/* A thread adds a job for worker v. */
inline add(v, j) {
    if
    :: hasIdle -> submit(j)
    :: else ->
        atomic {
            isAdded = isOpen[v];
            if
            :: isAdded -> inList[v * JOBS + j] = true; count[v]++
            :: else
            fi
        }
        if
        :: !isAdded -> submit(j)
#ifndef BREAK_PUSH      /* does not look again whether a processor is idle */
        :: isAdded && hasIdle -> share(v)
        :: isAdded && !hasIdle
#else
        :: isAdded
#endif
        fi
    fi;
    isAdded = false
}

inline runJob(j) { atomic { runs[j]++; assert(runs[j] == 1) } }

/* A worker by which a processor became idle looks through the lists. */
inline shareAll() {
    if
    :: count[0] > 0 -> share(0)
    :: else
    fi;
    if
    :: count[1] > 0 -> share(1)
    :: else
    fi
}

proctype Worker(byte w) {
    byte taken, j;
    bool isAdded, found, becameIdle;

    if
    :: w == 0 -> add(0, 0); runs[0] > 0
    :: else
    fi;
    itemIsOver[w] = true;

end_idle:
    do
    :: true ->
        /* Run the jobs of the own list. */
        do
        :: count[w] > 0 ->
            atomic {
                j = JOBS;
                if
                :: inList[w * JOBS] -> j = 0
                :: inList[w * JOBS + 1] -> j = 1
                :: inList[w * JOBS + 2] -> j = 2
                :: else
                fi;
                if
                :: j < JOBS -> inList[w * JOBS + j] = false; count[w]--
                :: else
                fi
            }
            if
            :: j < JOBS -> runJob(j)
            :: else
            fi;
            if
            :: pendingCount > 0 -> break
            :: else
            fi
        :: count[w] == 0 -> break
        od;
        /* nextItem */
#ifdef BREAK_SCAN       /* looks through the lists before it publishes that a processor is idle */
        shareAll();
#endif
        atomic {
            activeCount--;
            found = false;
            if
            :: pendingCount > 0 && activeCount < CORES ->
                if
                :: pending[0] == 1 -> j = 0
                :: pending[1] == 1 -> j = 1
                :: pending[2] == 1 -> j = 2
                fi;
                pending[j] = 0;
                pendingCount--;
                activeCount++;
                found = true;
                wakeOne()
            :: else -> parked[w] = true; wakeOne()
            fi;
            becameIdle = (activeCount < CORES && !hasIdle);
            hasIdle = activeCount < CORES
        }
#ifndef BREAK_SCAN
        if
        :: becameIdle -> shareAll()
        :: else
        fi;
#endif
        if
        :: found -> runJob(j)
        :: else ->
            atomic { isOpen[w] = false }
            share(w);
            /* Parks until woken, and counts as active again when it takes an item. */
end_parked:
            semaphore[w] > 0;
            atomic {
                semaphore[w]--;
                if
                :: pendingCount > 0 && activeCount < CORES ->
                    if
                    :: pending[0] == 1 -> j = 0
                    :: pending[1] == 1 -> j = 1
                    :: pending[2] == 1 -> j = 2
                    fi;
                    pending[j] = 0;
                    pendingCount--;
                    activeCount++;
                    hasIdle = activeCount < CORES;
                    found = true;
                    wakeOne()
                :: else -> parked[w] = true
                fi
            }
            if
            :: found -> atomic { isOpen[w] = true } runJob(j)
            :: else -> goto end_parked
            fi
        fi
    od
}

proctype Other() {
    byte taken;
    bool isAdded;
    add(0, 1);
    add(0, 2)
}

init {
    atomic {
        isOpen[0] = true;
        isOpen[1] = true;
        run Worker(0);
        run Worker(1);
        run Other()
    }
    runs[0] == 1 && runs[1] == 1 && runs[2] == 1
}
