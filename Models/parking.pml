/* Parking: how a submitted item reaches a worker thread. See WorkerThreads.md.
 *
 * Two threads submit four items. An item computes, or blocks: it waits for the next item in a wait
 * of the library, which the pool knows of; or it sleeps until the next item has run (a sleep, a
 * read), which only the monitor thread finds out; or it does the first, and then sleeps until the
 * last item has run. The search covers every mixture. So an item that no worker takes is not merely
 * late: another item waits for it for ever, and the search ends in an invalid end state.
 *
 * One atomic block is one hold of the pool's lock. The model has no loop without progress (it
 * leaves out the looks of the monitor thread that change nothing), so it needs no fairness.
 *
 * Sources:
 *   OperationsRuntime/Workers/PoolState.swift
 *   OperationsRuntime/Workers/PoolLoad.swift
 *   OperationsRuntime/Workers/Worker.swift
 *   OperationsRuntime/Workers/WorkerPool.swift
 *   OperationsRuntime/Workers/WorkerWatch.swift
 *   OperationsRuntime/Workers/Parker.swift
 */

#define CORES   2
#define ITEMS   4
#define THREADS 4       /* the maximum: one for each item, if all items wait */
#define WORKERS 5       /* the numbers of worker threads: one more, because one may end */

mtype = { computes, waitsForItem, sleeps, waitsThenSleeps };

mtype kind[ITEMS];
bool  wasRun[ITEMS];

/* PoolState */
chan  pending = [ITEMS] of { byte };
byte  activeWorkers;    /* workers that run an item and are not known to be blocked */
byte  asleep;           /* workers that the monitor thread has found asleep */
bool  searching;
bool  parked[WORKERS];  /* the list of parked workers */
byte  threads;          /* includes the thread that is being made */
bool  isThreadArriving; /* a new thread has not looked for work yet; one at a time */
bool  isThreadOrdered;  /* the monitor thread has the order, and has not begun */
bool  watching;         /* the monitor thread looks every few milliseconds */

/* Not guarded by the lock */
byte  semaphore[WORKERS];
bool  isMonitorPosted;  /* the semaphore of the monitor thread */
byte  sleeping;         /* workers that sleep, as their processor clocks would show */
byte  threadsMade;      /* the number of worker threads made so far */
byte  ended;

#define limit           (CORES + asleep)
#define isWorkPending   (len(pending) > 0)
#define mayTakeWork     (isWorkPending && activeWorkers < limit)
#define needsWatching   (asleep > 0 || (isWorkPending && activeWorkers >= limit))

#ifdef BREAK_SEMAPHORE  /* a post that comes before the wait is lost */
bool waits[WORKERS];
#define post(w)  if :: waits[w] -> semaphore[w]++ :: else fi
#else
#define post(w)  semaphore[w]++
#endif

#define wake(w)  parked[w] = false; post(w)

/* The rule of WorkerThreads.md: if active < limit and no worker searches, take one parked worker
 * off the list and post its semaphore, or order a thread if none is parked. If active >= limit,
 * wake the monitor thread to watch. */
inline balance() {
    if
    :: mayTakeWork && !searching ->
        if      /* parked workers are alike, so any of them will do */
        :: parked[0] -> wake(0)
        :: !parked[0] && parked[1] -> wake(1)
        :: !parked[0] && !parked[1] && parked[2] -> wake(2)
        :: !parked[0] && !parked[1] && !parked[2] && parked[3] -> wake(3)
        :: !parked[0] && !parked[1] && !parked[2] && !parked[3] && parked[4] -> wake(4)
        :: else ->
            if
            :: !isThreadArriving && threads < THREADS ->
                threads++;
                isThreadArriving = true;
                isThreadOrdered = true;
                isMonitorPosted = true
            :: else
            fi
        fi
    :: needsWatching && !watching -> isMonitorPosted = true
    :: else
    fi
}

proctype Submitter(byte first) {
    atomic { pending!first; balance() }
    atomic { pending!(first + 2); balance() }
}

proctype Worker(byte me) {
    byte item;
    bool hasBegun, hasRun, hasSearched;

/* One hold of the lock: the item or the search has ended. Then take an item, search, or park. */
look:
    atomic {
        if
        :: !hasBegun -> hasBegun = true; isThreadArriving = false
        :: else
        fi;
        if
        :: hasRun -> hasRun = false; activeWorkers--
        :: else
        fi;
        if
        :: hasSearched ->
            searching = false;
#ifdef BREAK_RECHECK    /* the searcher parks without a second look */
            hasSearched = false;
            parked[me] = true;
            goto park
#endif
        :: else
        fi;
        if
        :: mayTakeWork
        :: else ->
            if
            :: hasSearched || searching ->
                parked[me] = true;
                hasSearched = false;
                goto park
            :: else ->
                searching = true;
                hasSearched = true;
                goto search
            fi
        fi;
#ifdef BREAK_LIMIT      /* the worker checks the limit, and takes the item in another hold */
    }
    atomic {
        if
        :: !isWorkPending -> goto look
        :: else
        fi;
#endif
        /* Take the oldest item. */
        pending?item;
        assert(activeWorkers < limit);  /* only workers that return from a wait exceed the limit */
        activeWorkers++;
#if defined(BREAK_TAKE)  /* a worker that takes an item ignores the remaining items */
        skip;
#elif defined(BREAK_TAKE_WOKEN)         /* only a worker that has searched looks at them */
        if :: hasSearched -> balance() :: else fi;
#else
        balance();
#endif
        hasSearched = false
    }

    /* Run the item. */
    if
    :: kind[item] == computes
    :: kind[item] == waitsForItem || kind[item] == waitsThenSleeps ->
        atomic {
            activeWorkers--;
#ifndef BREAK_BLOCK     /* a worker that waits is not replaced */
            balance()
#endif
        }
        wasRun[item + 1];
        atomic {
            activeWorkers++;
#ifndef BREAK_UNBLOCK   /* a worker that returns from a wait does not apply the rule */
            balance()
#endif
        };
        if
        :: kind[item] == waitsThenSleeps -> goto sleep
        :: else
        fi
    :: kind[item] == sleeps ->
sleep:  sleeping++;
        if
        :: kind[item] == sleeps -> wasRun[item + 1]
        :: else -> wasRun[ITEMS - 1]
        fi;
        sleeping--
    fi;
    atomic {
        assert(!wasRun[item]);
        wasRun[item] = true;
        item = 0;
        hasRun = true;
        goto look
    }

/* The worker polls the hint, and sees an item or gives up. In both cases it takes the lock
 * again. */
search:
    goto look;

park:
#ifdef BREAK_SEMAPHORE
    waits[me] = true;
#endif
end_parked:
    if
    :: atomic { semaphore[me] > 0 -> semaphore[me]-- }
    :: atomic {
        /* Five seconds have passed. A worker that was taken off the list meanwhile is about to be
         * posted, so it must not end. */
        threads > CORES && ended == 0 ->
#ifndef BREAK_TIMEOUT
        if
        :: !parked[me] -> goto end_parked
        :: else
        fi;
#endif
        parked[me] = false;
        ended++;
        threads--;
        goto over
       }
    fi;
#ifdef BREAK_SEMAPHORE
    waits[me] = false;
#endif
    goto look;

over:
    skip
}

active proctype Monitor() {
    byte count;
end_monitor:
    do
    :: atomic {
        isMonitorPosted ->
        isMonitorPosted = false;
        watching = needsWatching;
        if
        :: isThreadOrdered ->
            isThreadOrdered = false;
            run Worker(threadsMade);
            threadsMade++
        :: else
        fi
       }
    :: atomic { watching && (sleeping != asleep || !needsWatching) ->
        count = sleeping }
        /* The clocks were read without the lock, so the count may be out of date. */
        atomic {
            asleep = count;
            balance();
            watching = needsWatching;
            count = 0
        }
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. ITEMS - 1) {
            if
            :: kind[i] = computes
            :: i < ITEMS - 1 -> kind[i] = waitsForItem
            :: i < ITEMS - 1 -> kind[i] = sleeps
            :: i < ITEMS - 2 -> kind[i] = waitsThenSleeps
            fi
        }
        i = 0;
        run Submitter(0);
        run Submitter(1)
    }
    /* Every item runs in the end. Otherwise this process waits here for ever, which is an invalid
     * end state. */
    wasRun[0] && wasRun[1] && wasRun[2] && wasRun[3];
    assert(!isWorkPending)
}
