/* Cancelling several together, against workers: Cancellation.md.
 *
 * D is one of them, and not plain: its class may override `cancel()`. D waits for one dependency, which ends on a
 * thread of its own. Meanwhile D is doomed, its `cancel()` is called, and then, or in there, it is cancelled.
 * Somebody says again and again that D may be ready. A worker takes D when it is filed. The override of `isReady`
 * says yes.
 *
 * One atomic step is one compare-and-swap of D's word, or touches only what the queue's lock protects.
 */

mtype = { waiting, asking, filed, starting, executing, finished };

/* The word */
mtype phase = waiting;
bool  askAgain, dependencyIsLeft = true, doomed, cancelled;

/* Whether D lies in the ready list of its queue */
bool  listed;

/* What is counted to be checked */
bool  cancelWasCalled, wasDoomedAtStart;
byte  claims, starts, actors;

#define awaitsCancel (doomed && !cancelled)
#define isReady      (!dependencyIsLeft || cancelled)
#define mayStart     (isReady && !awaitsCancel)

/* An event after which D may be ready; inside an atomic step. */
inline event() {
    if
#ifdef BREAK_BRING              /* brought on although its cancel() is still to come */
    :: phase == waiting && isReady -> phase = asking; mustAsk = true
#else
    :: phase == waiting && isReady && !awaitsCancel -> phase = asking; mustAsk = true
#endif
    :: phase == asking -> askAgain = true
    :: else
    fi
}

inline ask() {
    do
    :: mustAsk ->
        atomic { isYes = isReady && !awaitsCancel;
#ifdef BREAK_BRING
            isYes = isReady
#endif
        }
        atomic {
            if
            :: phase != asking -> mustAsk = false
            :: phase == asking && isYes -> phase = filed; askAgain = false; mustAsk = false; bring = true
            :: phase == asking && !isYes && askAgain -> askAgain = false
            :: phase == asking && !isYes && !askAgain -> phase = waiting; mustAsk = false
            fi
        }
        if
        :: bring -> bring = false; file()
        :: else
        fi
    :: else -> break
    od
}

/* Under the queue's lock. */
inline file() {
    atomic {
        if
        :: phase == filed && isReady -> listed = true
        :: phase == filed && !isReady -> phase = waiting
        :: else
        fi
    }
}

proctype Worker() {
    bool mustAsk, isYes, bring, goesBack;
end_worker:
    do
    :: atomic { listed -> listed = false; claims++; assert(claims <= 3) }
        atomic {
            if
#ifdef BREAK_AWAIT              /* one that is doomed leaves at once */
            :: phase == filed && (mayStart || doomed) ->
#else
            :: phase == filed && mayStart ->
#endif
                phase = starting; wasDoomedAtStart = doomed && !cancelled
            :: phase == filed && !mayStart -> goesBack = true
            :: else
            fi
        }
        if
        :: goesBack ->
            goesBack = false;
            atomic {
                if
#ifdef BREAK_BACK               /* back to those that wait, whatever the word says by now */
                :: phase == filed -> phase = waiting
#else
                :: phase == filed && mayStart -> bring = true
                :: phase == filed && !mayStart -> phase = waiting
#endif
                :: else
                fi
            }
            if
            :: bring -> bring = false; file()
            :: else
            fi
        :: phase == starting ->
            atomic {
                if
                :: cancelled -> phase = finished; assert(cancelWasCalled)
#ifdef BREAK_AWAIT
                :: !cancelled && wasDoomedAtStart ->
                    cancelled = true; phase = finished; assert(cancelWasCalled)
#endif
                :: else -> phase = executing; starts++; assert(!wasDoomedAtStart)
                fi
            }
            if
            :: phase == executing -> phase = finished
            :: else
            fi
        :: else
        fi
    od
}

proctype Canceller() {
    bool mustAsk, isYes, bring, mustMove;
    atomic {
        if
        :: phase != finished -> doomed = true
        :: else
        fi
    }
    /* The override runs, for as long as it likes. */
    cancelWasCalled = true;
    atomic {
        if
        :: phase != finished && !cancelled ->
            cancelled = true;
            if
            :: phase == filed -> mustMove = true
            :: else -> event()
            fi
        :: else
        fi
    }
    /* To the list of those that need no slot, if it lies in the other: here they are one. */
    ask();
    actors--
}

proctype Dependency() {
    bool mustAsk, isYes, bring;
    atomic { dependencyIsLeft = false; event() }
    ask();
    actors--
}

proctype Announcer(byte times) {
    bool mustAsk, isYes, bring;
    do
    :: times > 0 ->
        times--;
        atomic { true -> event() }
        ask()
    :: else -> break
    od;
    actors--
}

init {
    atomic {
        actors = 3;
        run Worker();
        run Canceller();
        run Dependency();
        run Announcer(2)
    }
    actors == 0;
    /* In the end it is over. */
    phase == finished;
    assert(starts <= 1)
}
