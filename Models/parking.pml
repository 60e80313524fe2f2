/* Parking: how work reaches a thread. WorkerThreads.md.
 *
 * Two submitters hand in four items. Item i may be one that waits until item i + 1 has run: in a wait of
 * ours, which the pool is told of, or somewhere else (a sleep, a read), which only the monitor can find
 * out; or it waits with us and then sleeps until the last item has run. All mixtures are explored. So an
 * item that nobody comes for is not merely late: somebody waits for it for ever, and the search ends in an
 * invalid end state.
 *
 * One atomic block is one hold of the pool's lock. There are no loops without progress (the monitor's
 * looks that change nothing are left out), so no fairness has to be assumed.
 */

#define CORES   2
#define ITEMS   4
#define THREADS 4       /* the most there may be: one for each item, should they all wait */
#define WORKERS 5       /* names for threads: one more, because one may end */

mtype = { plain, waitsWithUs, sleepsElsewhere, waitsThenSleeps };

mtype kind[ITEMS];
bool  wasRun[ITEMS];

/* PoolState */
chan  pending = [ITEMS] of { byte };
byte  atWork;           /* `active`: run something and are not known to be blocked */
byte  foundAsleep;      /* counted by the monitor */
bool  searching;
bool  parked[WORKERS];  /* the list of parked workers */
byte  threads;          /* the one that is being made included */
bool  beingMade;        /* a thread was ordered and has not yet looked for work: one at a time */
bool  threadIsWanted;   /* ordered from the monitor, who has not begun */
bool  watching;         /* the monitor looks by itself, every few milliseconds */

/* Outside the lock */
byte  semaphore[WORKERS];
bool  monitorCalled;    /* the monitor's semaphore */
byte  asleepElsewhere;  /* what the processor clocks would tell */
byte  named;            /* worker threads made so far */
byte  ended;

#define limit           (CORES + foundAsleep)
#define isWorkPending   (len(pending) > 0)
#define mayTakeWork     (isWorkPending && atWork < limit)
#define needsWatching   (foundAsleep > 0 || (isWorkPending && atWork >= limit))

#ifdef BREAK_SEMAPHORE  /* a post that comes before the wait is forgotten */
bool waits[WORKERS];
#define post(w)  if :: waits[w] -> semaphore[w]++ :: else fi
#else
#define post(w)  semaphore[w]++
#endif

#define wake(w)  parked[w] = false; post(w)

/* "If active < limit and nobody searches, one parked worker is taken off the list and its semaphore is
 * posted, or a thread is made if none is parked. If active >= limit, the monitor is woken to watch." */
inline applyTheRule() {
    if
    :: mayTakeWork && !searching ->
        if      /* parked workers are alike, so it does not matter which */
        :: parked[0] -> wake(0)
        :: !parked[0] && parked[1] -> wake(1)
        :: !parked[0] && !parked[1] && parked[2] -> wake(2)
        :: !parked[0] && !parked[1] && !parked[2] && parked[3] -> wake(3)
        :: !parked[0] && !parked[1] && !parked[2] && !parked[3] && parked[4] -> wake(4)
        :: else ->
            if
            :: !beingMade && threads < THREADS ->
                threads++;
                beingMade = true;
                threadIsWanted = true;
                monitorCalled = true
            :: else
            fi
        fi
    :: needsWatching && !watching -> monitorCalled = true
    :: else
    fi
}

proctype Submitter(byte first) {
    atomic { pending!first; applyTheRule() }
    atomic { pending!(first + 2); applyTheRule() }
}

proctype Worker(byte me) {
    byte item;
    bool hasBegun, hasRun, hasSearched;

look:   /* one hold: the item that was run is over, or the search is; then look, and else search or park */
    atomic {
        if
        :: !hasBegun -> hasBegun = true; beingMade = false
        :: else
        fi;
        if
        :: hasRun -> hasRun = false; atWork--
        :: else
        fi;
        if
        :: hasSearched ->
            searching = false;
#ifdef BREAK_RECHECK    /* the searcher parks without looking again */
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
#ifdef BREAK_LIMIT      /* it saw that it may, and takes in another hold without asking again */
    }
    atomic {
        if
        :: !isWorkPending -> goto look
        :: else
        fi;
#endif
        /* Take the oldest. */
        pending?item;
        assert(atWork < limit);         /* more than the limit only by coming back from a wait */
        atWork++;
#if defined(BREAK_REST)                 /* who takes work does not look after the rest */
        skip;
#elif defined(BREAK_REST_WOKEN)         /* only who has searched does, not who was woken or was busy */
        if :: hasSearched -> applyTheRule() :: else fi;
#else
        applyTheRule();
#endif
        hasSearched = false
    }

    /* Run it. */
    if
    :: kind[item] == plain
    :: kind[item] == waitsWithUs || kind[item] == waitsThenSleeps ->
        atomic {
            atWork--;
#ifndef BREAK_BLOCK     /* nobody makes up for a worker that waits */
            applyTheRule()
#endif
        }
        wasRun[item + 1];
        atomic {
            atWork++;
#ifndef BREAK_COMEBACK  /* coming back, the rule is not applied */
            applyTheRule()
#endif
        };
        if
        :: kind[item] == waitsThenSleeps -> goto sleep
        :: else
        fi
    :: kind[item] == sleepsElsewhere ->
sleep:  asleepElsewhere++;
        if
        :: kind[item] == sleepsElsewhere -> wasRun[item + 1]
        :: else -> wasRun[ITEMS - 1]
        fi;
        asleepElsewhere--
    fi;
    atomic {
        assert(!wasRun[item]);
        wasRun[item] = true;
        item = 0;
        hasRun = true;
        goto look
    }

search: /* it polls the hint, sees something or gives up: either way it takes the lock again */
    goto look;

park:
#ifdef BREAK_SEMAPHORE
    waits[me] = true;
#endif
end_parked:
    if
    :: atomic { semaphore[me] > 0 -> semaphore[me]-- }
    :: atomic {
        /* Five seconds have passed. Who was taken off the list meanwhile is relied on, and stays. */
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
        monitorCalled ->
        monitorCalled = false;
        watching = needsWatching;
        if
        :: threadIsWanted ->
            threadIsWanted = false;
            run Worker(named);
            named++
        :: else
        fi
       }
    :: atomic { watching && (asleepElsewhere != foundAsleep || !needsWatching) ->
        count = asleepElsewhere }
        /* The clocks were read without the lock, so the count may be old by now. */
        atomic {
            foundAsleep = count;
            applyTheRule();
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
            :: kind[i] = plain
            :: i < ITEMS - 1 -> kind[i] = waitsWithUs
            :: i < ITEMS - 1 -> kind[i] = sleepsElsewhere
            :: i < ITEMS - 2 -> kind[i] = waitsThenSleeps
            fi
        }
        i = 0;
        run Submitter(0);
        run Submitter(1)
    }
    /* Every item is run in the end: who waits here for ever is an invalid end state. */
    wasRun[0] && wasRun[1] && wasRun[2] && wasRun[3];
    assert(!isWorkPending)
}
