/* Readiness: asking an overridden `isReady`. LifecycleStates.md.
 *
 * The operation waits for one dependency; its class overrides `isReady` to return a variable of its own, if
 * `super` says yes. Two threads set that variable, each several times, and report each change with
 * `didChangeValue`; a third enqueues the operation; the dependency ends; with CANCEL, the operation is cancelled
 * as well. With ALONE the override does not ask `super`. With OWN there is no override, and another dependency is
 * added late: then the operation is never filed with a dependency left.
 *
 * The variable is the user's, an ordinary one. What a thread writes reaches the others at some time
 * later, at the latest with that thread's next compare-and-swap (its store buffer is emptied then): so
 * the model also shows which events must be compare-and-swaps, even if they change nothing.
 */

mtype = { created, waiting, asking, filed };

/* The word */
mtype phase = created;
bool  askAgain;
bool  dependencyIsLeft = true;
bool  cancelled;
bool  insists;

/* The user's variable, and what the two threads have written that nobody else sees yet */
bool  answer;
bool  isBuffered[2], buffered[2];

/* What is counted to be checked */
byte  askers, filings;
byte  threadsAtIt;

/* A compare-and-swap by thread `me` empties its buffer first. */
#define cas(me)  if :: isBuffered[me] -> answer = buffered[me]; isBuffered[me] = false :: else fi

#define isReady  (!dependencyIsLeft || cancelled)

/* An event after which the operation may be ready. Whoever moves it to asking asks; if it is asking
 * already, askAgain tells the one who does. What is announced may be ready in spite of dependencies. */
inline event(isAnnounced) {
    if
    :: phase == waiting && (isReady || isAnnounced) -> phase = asking; mustAsk = true
    :: phase == asking ->
#ifndef BREAK_ASKAGAIN          /* who asks is not told of what came in between */
        askAgain = true
#endif
    :: else
    fi
}

/* With no lock held. The loop ends because there are only so many events. */
inline ask() {
    do
    :: mustAsk ->
        atomic { askers++; assert(askers == 1); wasReady = isReady }
        if
        :: cancelled -> isYes = true    /* an override cannot hold it back */
        :: else ->
#ifdef ALONE
            isYes = answer
#else
            isYes = isReady;
#ifndef OWN
            if
            :: isYes -> isYes = answer
            :: else
            fi
#endif
#endif
        fi;
        askers--;
        atomic {
            assert(phase == asking);
            if
            :: isYes && isReady -> phase = filed; filings++; askAgain = false; mustAsk = false
#ifdef BREAK_INSIST             /* a yes is taken for that of an override, whatever has come in between */
            :: isYes && !isReady ->
#else
            :: isYes && !isReady && (wasReady || askAgain) -> askAgain = false
            :: isYes && !isReady && !wasReady && !askAgain ->
#endif
                insists = true; phase = filed; filings++; mustAsk = false
#ifdef BREAK_GOING_BACK         /* back to waiting, whether or not askAgain was set */
            :: !isYes -> phase = waiting; askAgain = false; mustAsk = false
#else
            :: !isYes && askAgain -> askAgain = false
            :: !isYes && !askAgain -> phase = waiting; mustAsk = false
#endif
            fi;
            isYes = false
        }
    :: else -> break
    od
}

/* A thread that changes the answer: `first`, and back, and so on; and reports it each time. */
proctype Changer(byte me; bool first; byte times) {
    bool mustAsk, isYes, wasReady, value;
    value = first;
    do
    :: times > 0 ->
        times--;
        atomic { cas(me); buffered[me] = value; isBuffered[me] = true; value = !value }
        if
#ifdef BREAK_SET_ALREADY        /* a flag that is set already is not set once more */
        :: phase == asking && askAgain -> skip
#endif
#ifdef BREAK_NOTHING_TO_DO      /* a word that says "not yet" is only read */
        :: phase == created || (phase == waiting && dependencyIsLeft) -> skip
#endif
        :: atomic { true -> cas(me); event(true) }
        fi;
        ask()
    :: else -> break
    od;
    threadsAtIt--
}

/* The processor empties the buffers when it likes. */
active proctype Memory() {
end_memory:
    do
    :: atomic { isBuffered[0] -> cas(0) }
    :: atomic { isBuffered[1] -> cas(1) }
    od
}

proctype Enqueuer() {
    bool mustAsk, isYes, wasReady;
    atomic { phase = asking; mustAsk = true };
    ask();
    threadsAtIt--
}

proctype Dependency() {
    bool mustAsk, isYes, wasReady;
    atomic { dependencyIsLeft = false; event(false) };
    ask();
#ifdef OWN
    /* Another one is added, and ends. One that is filed goes back, and is asked. */
    atomic {
        dependencyIsLeft = true;
        if
        :: phase == filed -> phase = waiting; filings--; event(true)
        :: else
        fi
    };
    ask();
    atomic { dependencyIsLeft = false; event(false) };
    ask();
#endif
    threadsAtIt--
}

#ifdef CANCEL
proctype Canceller() {
    bool mustAsk, isYes, wasReady;
    atomic { cancelled = true; event(false) };
    ask();
    threadsAtIt--
}
#endif

init {
    atomic {
        threadsAtIt = 4;
        run Changer(0, true, 3);
        run Changer(1, false, 4);
        run Enqueuer();
        run Dependency();
#ifdef CANCEL
        threadsAtIt++;
        run Canceller()
#endif
    }
    threadsAtIt == 0 && !isBuffered[0] && !isBuffered[1];
    /* It is filed once if it is ready in the end, or was found ready before; and else it waits. */
    assert(filings <= 1);
    assert(phase == filed || phase == waiting);
    assert(!askAgain);
    assert((phase == filed) == (filings == 1));
#ifdef OWN
    assert(filings == 1 && !insists)
#else
    assert(!(answer || cancelled) || filings == 1)
#endif
}
