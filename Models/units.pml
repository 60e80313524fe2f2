/* Units of budgets: who waits for them, who is given them, and who has to give them back.
 * Permits.md. ConcurrencyBudget.swift, PermitRequest.swift,
 * QueueState+Granting.swift, QueueState+Claiming.swift (claimReady), Operation+Attempts.swift (goesBack),
 * Operation+LifeCycle.swift (runClaimed, giveBackClaim, finish). Limits by key are budgets, too.
 *
 * There is one unit of A and one of B. Operation 0 needs A and 1 needs both, in a queue of width 1; 2 needs
 * B, in another queue. Chosen by macros of their own:
 *   RETRY    0 is run twice, and held between its attempts until a timer ends that
 *   CANCEL   1 is cancelled at any time
 *   SUSPEND  the first queue, which two workers look at, is suspended and resumed
 *   DEPEND   1 is given a dependency late, which is over some time later
 *   STRICT   the first queue is strictly first in, first out; here 1 needs B and 2 needs A
 *
 * One atomic step is one hold of a lock: of a queue's, in which units may be asked for under the lock of all
 * budgets, or of that one alone; or one exchange of a word. A queue is looked at whenever it has something
 * to run: every event in which that may come to be offers it.
 */

#define OPERATIONS  3
#define A           0
#define B           1
#define queueOf(o)  (o == 2 -> 1 : 0)
#ifdef STRICT
#define needs(o, b) ((o == 1) == (b == B))
#else
#define needs(o, b) ((o == 0 && b == A) || o == 1 || (o == 2 && b == B))
#endif

mtype = { waiting, filed, executing, finished };        /* phases */
mtype = { idle, inLine, served, ended };                /* stages of a claim */

/* The words */
mtype phase[OPERATIONS];
bool  held[OPERATIONS], cancelled[OPERATIONS], alone[OPERATIONS];
byte  count[OPERATIONS];

/* The claims and the budgets, under their one lock */
mtype stage[OPERATIONS];
byte  ticket[OPERATIONS], lastTicket;
byte  taken[2];

/* The queues, each under its lock */
bool  ready[OPERATIONS], readyToLeave[OPERATIONS], granted[OPERATIONS];
byte  running[2];
bool  suspended;

/* What is counted to be checked */
byte  attempts[OPERATIONS];
bool  timerIsSet;
byte  actors;

#define isReady(o)     ((count[o] == 0 && !held[o]) || cancelled[o])
#define isOpen(q)      (running[q] == 0 && !(q == 0 && suspended))
#define isInLine(o, b) (stage[o] == inLine && needs(o, b))
/* Whether nobody is before it in a line */
#define isFirst(o, b) \
    (!(isInLine(0, b) && ticket[0] < ticket[o]) && !(isInLine(1, b) && ticket[1] < ticket[o]) \
     && !(isInLine(2, b) && ticket[2] < ticket[o]))
#define canTake(o) \
    ((!needs(o, A) || (taken[A] == 0 && isFirst(o, A))) && (!needs(o, B) || (taken[B] == 0 && isFirst(o, B))))

/* Inside an atomic step. */
inline take(o) {
    if
    :: needs(o, A) -> taken[A]++
    :: else
    fi;
    if
    :: needs(o, B) -> taken[B]++
    :: else
    fi;
    assert(taken[A] <= 1 && taken[B] <= 1);
    stage[o] = served
}

inline putBack(o) {
    assert(stage[o] == served);
    if
    :: needs(o, A) -> taken[A]--
    :: else
    fi;
    if
    :: needs(o, B) -> taken[B]--
    :: else
    fi
}

/* Gives units to those in line for whom there are enough now; these are the caller's to bring on. */
inline settle() {
    do
    :: stage[0] == inLine && canTake(0) -> take(0); mine[0] = true
    :: stage[1] == inLine && canTake(1) -> take(1); mine[1] = true
    :: stage[2] == inLine && canTake(2) -> take(2); mine[2] = true
    :: else -> break
    od
}

/* Takes back what one has that has not begun (keeps its ticket), or whose attempt is over. */
inline giveBack(o, keeps) {
    atomic {
        if
        :: stage[o] == served ->
            putBack(o);
            stage[o] = idle;
            if
            :: !keeps -> ticket[o] = 0
            :: else
            fi;
            settle()
        :: else
        fi
    }
}

/* Brings a filed operation to its queue's list. */
inline file(o) {
    atomic {
        if
        :: phase[o] == filed && !isReady(o) -> phase[o] = waiting
        :: phase[o] == filed && cancelled[o] -> readyToLeave[o] = true
        :: phase[o] == filed && isReady(o) && !cancelled[o] -> ready[o] = true
        :: else
        fi
    }
}

/* An event of the word after which it may be ready; the one who files it brings it on. */
inline mayBeReady(o) {
    if
    :: phase[o] == waiting && isReady(o) -> phase[o] = filed; isMine = true
    :: else
    fi
}

inline bringOn(o) {
    if
    :: isMine -> isMine = false; file(o)
    :: else
    fi
}

/* Nothing holds it back any more but its dependencies. */
inline letGoOn(o) {
    atomic {
        if
        :: held[o] && phase[o] != finished -> held[o] = false; mayBeReady(o)
        :: else
        fi
    }
    bringOn(o)
}

/* Brings those that were given units to their queues; who cannot start now is passed over. */
inline handOut() {
    do
    :: mine[0] || mine[1] || mine[2] ->
        atomic {
            if
            :: mine[0] -> g = 0
            :: mine[1] -> g = 1
            :: mine[2] -> g = 2
            fi;
            mine[g] = false;
            if
            :: isOpen(queueOf(g)) && phase[g] == waiting && held[g] && count[g] == 0 && !cancelled[g] ->
                phase[g] = filed;
                held[g] = false;
                alone[g] = true;
                running[queueOf(g)]++;
                granted[g] = true;
                g = OPERATIONS
            :: else
            fi
        }
        if
        :: g < OPERATIONS ->
#ifndef BREAK_PASSED_OVER       /* who is passed over keeps the units */
            giveBack(g, true);
#endif
            letGoOn(g)
        :: else
        fi;
        g = 0
    :: else -> break
    od
}

/* In a strict order: whether nobody before it is still to start. */
#ifdef STRICT
#define isPast(o)   (phase[o] == executing || phase[o] == finished || cancelled[o] || alone[o])
#ifdef BREAK_OVERTAKEN          /* one that was refused its units is as good as started */
#define isNext(o)   (o != 1 || isPast(0) || held[0])
#else
#define isNext(o)   (o != 1 || isPast(0))
#endif
#else
#define isNext(o)   true
#endif
#define isTakeable(o, q) \
    (queueOf(o) == q && (readyToLeave[o] || granted[o] || (ready[o] && isOpen(q) && isNext(o))))
#define areAllFinished(q) \
    ((queueOf(0) != q || phase[0] == finished) && (queueOf(1) != q || phase[1] == finished) \
     && (queueOf(2) != q || phase[2] == finished))

proctype Worker(byte q) {
    bool mine[OPERATIONS];      /* given units, to be brought on */
    bool isMine;                /* filed, to be brought on */
    byte o, g;
    bool has, holdsSlot, runs;

    do
    :: atomic {
            /* A claim: cancelled ones first, then those that were given their units. */
            if
            :: isTakeable(0, q) && readyToLeave[0] -> o = 0
            :: isTakeable(1, q) && readyToLeave[1] -> o = 1
            :: isTakeable(2, q) && readyToLeave[2] -> o = 2
            :: isTakeable(0, q) && granted[0] -> o = 0
            :: isTakeable(1, q) && granted[1] -> o = 1
            :: isTakeable(2, q) && granted[2] -> o = 2
            :: isTakeable(0, q) && ready[0] -> o = 0
            :: isTakeable(1, q) && ready[1] -> o = 1
            :: isTakeable(2, q) && ready[2] -> o = 2
            :: areAllFinished(q) -> goto done
            fi;
            if
            :: readyToLeave[o] || granted[o] ->
                has = true;
                holdsSlot = granted[o];
                readyToLeave[o] = false;
                granted[o] = false
            :: else ->
                ready[o] = false;
                /* Units are only ever held together with a slot. */
                assert(stage[o] != served);
                if
                :: stage[o] != idle -> has = true
                :: else ->
                    if
                    :: ticket[o] == 0 -> lastTicket++; ticket[o] = lastTicket
                    :: else
                    fi;
                    if
                    :: canTake(o) -> take(o); has = true
                    :: !canTake(o) && cancelled[o] -> has = true
                    :: else ->  /* it goes into its lines in the same hold */
                        phase[o] = waiting;
                        held[o] = true;
#ifndef BREAK_LINE              /* it goes into its lines in a hold of their own */
                        stage[o] = inLine
#else
                        runs = true
#endif
                    fi
                fi;
                if
                :: has -> alone[o] = true; running[q]++; holdsSlot = true
                :: else
                fi
            fi
        }
#ifdef BREAK_LINE
        if
        :: runs -> runs = false; stage[o] = inLine
        :: else
        fi;
#endif
        if
        :: has ->
            has = false;
            /* It was claimed some time ago: it may have to go back. */
            if
            :: !cancelled[o] && (stage[o] != served || (q == 0 && suspended)) ->
#ifndef BREAK_GO_BACK           /* its units go back when it waits again, and others may have claimed it */
                giveBack(o, true);
                handOut();
#endif
                atomic {
                    phase[o] = waiting;
                    alone[o] = false
                }
                atomic { running[q] = running[q] - (holdsSlot -> 1 : 0); holdsSlot = false }
                atomic { mayBeReady(o) }
                bringOn(o)
#ifdef BREAK_GO_BACK
                ;
                giveBack(o, true);
                handOut()
#endif
            :: else ->
                atomic {
                    if
                    :: !isReady(o) && !cancelled[o] ->      /* a dependency came late */
                        runs = false;
                        has = true
                    :: cancelled[o] -> phase[o] = executing
                    :: else ->
                        phase[o] = executing;
                        runs = true;
                        attempts[o]++;
#ifdef STRICT
                        assert(o != 1 || attempts[0] > 0);
#endif
                        assert(stage[o] == served)
                    fi
                }
                if
                :: has ->
                    has = false;
                    giveBack(o, true);
                    handOut();
                    atomic { phase[o] = waiting; alone[o] = false }
                    atomic { running[q] = running[q] - (holdsSlot -> 1 : 0); holdsSlot = false }
                    atomic { mayBeReady(o) }
                    bringOn(o)
                :: else ->
                    /* The body, which needs its units to its end. */
                    if
                    :: runs -> assert(stage[o] == served)
                    :: else
                    fi;
                    atomic {
#ifdef RETRY
                        if
                        :: runs && o == 0 && attempts[0] == 1 && !cancelled[0] ->
                            phase[o] = waiting;
                            held[o] = true;
                            alone[o] = false;
                            has = true
                        :: else -> phase[o] = finished
                        fi;
#else
                        phase[o] = finished;
#endif
                        runs = false
                    }
                    if
                    :: has ->   /* another attempt: the slot, then the units, then the timer */
                        has = false;
                        atomic { running[q] = running[q] - (holdsSlot -> 1 : 0); holdsSlot = false }
#ifdef BREAK_TIMER_FIRST        /* it may begin anew before its units are back */
                        timerIsSet = true;
#endif
                        giveBack(o, false);
                        handOut();
                        timerIsSet = true
                    :: else ->
                        /* Over: what it had goes back, it leaves, and others are served. */
                        atomic {
                            if
                            :: stage[o] == served -> putBack(o)
                            :: else
                            fi;
#ifdef BREAK_END                /* who is over stays in line */
                            if
                            :: stage[o] != inLine -> stage[o] = ended
                            :: else
                            fi
#else
                            stage[o] = ended
#endif
                        }
                        atomic {
                            running[q] = running[q] - (holdsSlot -> 1 : 0);
                            holdsSlot = false;
                            ready[o] = false;
                            readyToLeave[o] = false
                        }
#ifndef BREAK_SERVE             /* nobody looks at the lines when one is over */
                        atomic { settle() }
                        handOut()
#endif
                    fi
                fi
            fi
        :: else
        fi;
        atomic { o = 0; g = 0 }
    od;
done:
    actors--
}

#ifdef RETRY
active proctype Timer() {
    bool isMine;
    do
    :: timerIsSet -> timerIsSet = false; letGoOn(0)
    :: phase[0] == finished && !timerIsSet -> break
    od
}
#endif

#ifdef CANCEL
active proctype Canceller() {
    bool isMine;
    atomic {
        if
        :: phase[1] != finished -> cancelled[1] = true; mayBeReady(1)
        :: else
        fi
    }
    bringOn(1);
    /* One that was filed moves to the list that needs no slot, if it is in one. */
    atomic {
        if
        :: ready[1] && cancelled[1] -> ready[1] = false; readyToLeave[1] = true
        :: else
        fi
    }
}
#endif

#ifdef SUSPEND
active proctype Suspender() {
    suspended = true;
    suspended = false
}
#endif

#ifdef DEPEND
active proctype Dependency() {
    bool isMine;
    atomic {
        if
        :: phase[1] == waiting || phase[1] == filed -> count[1]++
        :: else -> goto done
        fi
    }
    atomic {                    /* it is taken off the list, if it is there */
        if
        :: phase[1] == filed && ready[1] -> ready[1] = false; phase[1] = waiting
        :: else
        fi
    }
    atomic { count[1]--; mayBeReady(1) }
    bringOn(1);
done:
    skip
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            phase[i] = filed;
            ready[i] = true;
            stage[i] = idle
        }
        i = 0;
        actors = 2;
        run Worker(0);
        run Worker(1);
#ifdef SUSPEND
        actors++;
        run Worker(0)
#endif
    }
    /* All come to their end, and all units are back. Who waits here for ever is an invalid end. */
    actors == 0;
    assert(taken[A] == 0 && taken[B] == 0 && running[0] == 0 && running[1] == 0);
    assert(stage[0] == ended && stage[1] == ended && stage[2] == ended);
    assert(cancelled[1] || attempts[1] == 1);
#ifdef RETRY
    assert(attempts[0] == 2)
#else
    assert(attempts[0] == 1)
#endif
}
