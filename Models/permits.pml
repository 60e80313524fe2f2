/* Permits of budgets: which operations wait for permits, which get them, and when permits are
 * returned. See Permits.md. Limits by key are budgets, too.
 *
 * Budgets A and B have one permit each. Operation 0 needs A and 1 needs both, in a queue of width
 * 1. Operation 2 needs B, in another queue. Chosen by macros:
 *   RETRY    0 runs twice, and is on hold between its attempts until a timer ends the hold
 *   CANCEL   1 is cancelled at any time
 *   SUSPEND  the first queue, which two workers serve, is suspended and resumed
 *   DEPEND   1 gets a late dependency, which finishes later
 *   RANK     the priority of 2, by which its ticket goes before the others, is raised at any time
 *   STRICT   the first queue is strictly first in, first out; here 1 needs B and 2 needs A
 *
 * One atomic step is one hold of a queue's lock (inside which the thread may ask for permits under
 * the budgets' lock), one hold of the budgets' lock alone, or one exchange of a lifecycle state. A
 * worker serves a queue whenever the queue has runnable work, because every event that makes work
 * runnable offers the queue.
 *
 * Sources:
 *   Operations/Budgets
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Scheduling/AdmittedOperations.swift
 *   Operations/Scheduling/QueueState+Claiming.swift
 *   Operations/Scheduling/QueueState+Granting.swift
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

mtype = { waiting, queued, executing, finished };       /* phases */
mtype = { idle, inLine, served, ended };                /* stages of a permit request */

/* The lifecycle states */
mtype phase[OPERATIONS];
bool  onHold[OPERATIONS], cancelled[OPERATIONS], claimedAlone[OPERATIONS];
byte  count[OPERATIONS];

/* The permit requests and the budgets, under their one lock */
mtype stage[OPERATIONS];
byte  ticket[OPERATIONS], lastTicket;
byte  taken[2];

/* The queues. Each is guarded by its lock. */
bool  inReadyQueue[OPERATIONS], inCancelledList[OPERATIONS], inAdmittedList[OPERATIONS];
byte  running[2];
bool  suspended;

/* Counters that the assertions check */
byte  attempts[OPERATIONS];
bool  timerIsSet;
byte  actors;

#define isReady(o)     ((count[o] == 0 && !onHold[o]) || cancelled[o])
#define canStart(q)    (running[q] == 0 && !(q == 0 && suspended))
#define isInLine(o, b) (stage[o] == inLine && needs(o, b))
#ifdef RANK
bool  isRaised;                 /* the priority of 2, which its queue's lock guards */
bool  isTicketRaised;           /* the priority in the ticket of 2 */
#define rank(o)        (o == 2 && isTicketRaised)
#define isBefore(o, p) \
    ((rank(o) && !rank(p)) || (rank(o) == rank(p) && ticket[o] < ticket[p]))
#else
#define isBefore(o, p) (ticket[o] < ticket[p])
#endif
/* Whether no other request is before this one in the line of a budget */
#define isFirst(o, b) \
    (!(isInLine(0, b) && isBefore(0, o)) && !(isInLine(1, b) && isBefore(1, o)) \
     && !(isInLine(2, b) && isBefore(2, o)))
#define canTake(o) \
    ((!needs(o, A) || (taken[A] == 0 && isFirst(o, A))) \
     && (!needs(o, B) || (taken[B] == 0 && isFirst(o, B))))

/* Part of an atomic step. */
inline takePermits(o) {
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

inline returnToBudgets(o) {
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

/* Grants permits to the requests in line for which there are enough. The caller must bring these
 * operations to their queues. */
inline grantPermits() {
    do
    :: stage[0] == inLine && canTake(0) -> takePermits(0); wasGranted[0] = true
    :: stage[1] == inLine && canTake(1) -> takePermits(1); wasGranted[1] = true
    :: stage[2] == inLine && canTake(2) -> takePermits(2); wasGranted[2] = true
    :: else -> break
    od
}

/* Returns the permits of an operation that has not begun (which keeps its ticket), or whose attempt
 * has ended. */
inline returnPermits(o, keepsTicket) {
    atomic {
        if
        :: stage[o] == served ->
            returnToBudgets(o);
            stage[o] = idle;
            if
            :: !keepsTicket -> ticket[o] = 0
            :: else
            fi;
            grantPermits()
        :: else
        fi
    }
}

/* Puts a queued operation into its queue's ready queue or cancelled list. */
inline putIntoReadyQueue(o) {
    atomic {
        if
        :: phase[o] == queued && !isReady(o) -> phase[o] = waiting
        :: phase[o] == queued && cancelled[o] -> inCancelledList[o] = true
        :: phase[o] == queued && isReady(o) && !cancelled[o] -> inReadyQueue[o] = true
        :: else
        fi
    }
}

/* An event after which the operation may be ready. The thread that makes it queued also puts it
 * into the ready queue. */
inline mayBeReady(o) {
    if
    :: phase[o] == waiting && isReady(o) -> phase[o] = queued; mustMakeReady = true
    :: else
    fi
}

inline makeReady(o) {
    if
    :: mustMakeReady -> mustMakeReady = false; putIntoReadyQueue(o)
    :: else
    fi
}

/* Ends the hold of an operation. From here on only dependencies hold it back. */
inline releaseHold(o) {
    atomic {
        if
        :: onHold[o] && phase[o] != finished -> onHold[o] = false; mayBeReady(o)
        :: else
        fi
    }
    makeReady(o)
}

/* Brings operations that were granted permits to their queues. An operation that cannot start now
 * is passed over. */
inline admitGranted() {
    do
    :: wasGranted[0] || wasGranted[1] || wasGranted[2] ->
        atomic {
            if
            :: wasGranted[0] -> g = 0
            :: wasGranted[1] -> g = 1
            :: wasGranted[2] -> g = 2
            fi;
            wasGranted[g] = false;
            if
            :: canStart(queueOf(g)) && phase[g] == waiting && onHold[g] && count[g] == 0 &&
               !cancelled[g] ->
                phase[g] = queued;
                onHold[g] = false;
                claimedAlone[g] = true;
                running[queueOf(g)]++;
                inAdmittedList[g] = true;
                g = OPERATIONS
            :: else
            fi
        }
        if
        :: g < OPERATIONS ->
#ifndef BREAK_PASSED_OVER       /* an operation that is passed over keeps its permits */
            returnPermits(g, true);
#endif
            releaseHold(g)
        :: else
        fi;
        g = 0
    :: else -> break
    od
}

/* In a strict order: whether every earlier operation has started. */
#ifdef STRICT
#define isPast(o) \
    (phase[o] == executing || phase[o] == finished || cancelled[o] || claimedAlone[o])
#ifdef BREAK_OVERTAKEN          /* an operation that was refused permits counts as started */
#define isNext(o)   (o != 1 || isPast(0) || onHold[0])
#else
#define isNext(o)   (o != 1 || isPast(0))
#endif
#else
#define isNext(o)   true
#endif
#define isTakeable(o, q) \
    (queueOf(o) == q && (inCancelledList[o] || inAdmittedList[o] \
                         || (inReadyQueue[o] && canStart(q) && isNext(o))))
#define areAllFinished(q) \
    ((queueOf(0) != q || phase[0] == finished) && (queueOf(1) != q || phase[1] == finished) \
     && (queueOf(2) != q || phase[2] == finished))

proctype Worker(byte q) {
    bool wasGranted[OPERATIONS]; /* granted permits, and not brought to its queue */
    bool mustMakeReady;         /* made queued, and not in the ready queue */
    byte o, g;
    bool flag;                  /* an operation was claimed; later: it goes back to waiting */
    bool holdsSlot, runs;

    do
    :: atomic {
            /* A claim takes cancelled operations first, then admitted ones. */
            if
            :: isTakeable(0, q) && inCancelledList[0] -> o = 0
            :: isTakeable(1, q) && inCancelledList[1] -> o = 1
            :: isTakeable(2, q) && inCancelledList[2] -> o = 2
            :: isTakeable(0, q) && inAdmittedList[0] -> o = 0
            :: isTakeable(1, q) && inAdmittedList[1] -> o = 1
            :: isTakeable(2, q) && inAdmittedList[2] -> o = 2
            :: isTakeable(0, q) && inReadyQueue[0] -> o = 0
            :: isTakeable(1, q) && inReadyQueue[1] -> o = 1
            :: isTakeable(2, q) && inReadyQueue[2] -> o = 2
            :: areAllFinished(q) -> goto done
            fi;
            if
            :: inCancelledList[o] || inAdmittedList[o] ->
                flag = true;
                holdsSlot = inAdmittedList[o];
                inCancelledList[o] = false;
                inAdmittedList[o] = false
            :: else ->
                inReadyQueue[o] = false;
                /* Permits are only held together with a width slot. */
                assert(stage[o] != served);
                if
                :: stage[o] != idle -> flag = true
                :: else ->
                    if
                    :: ticket[o] == 0 ->
                        lastTicket++;
                        ticket[o] = lastTicket;
#ifdef RANK
                        if
                        :: o == 2 -> isTicketRaised = isRaised
                        :: else
                        fi
#endif
                    :: else
                    fi;
                    if
                    :: canTake(o) -> takePermits(o); flag = true
                    :: !canTake(o) && cancelled[o] -> flag = true
                    :: else ->  /* the request enters its lines in the same hold */
                        phase[o] = waiting;
                        onHold[o] = true;
#ifndef BREAK_LINE              /* the request enters its lines in another hold */
                        stage[o] = inLine
#else
                        runs = true
#endif
                    fi
                fi;
                if
                :: flag -> claimedAlone[o] = true; running[q]++; holdsSlot = true
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
        :: flag ->
            flag = false;
            /* The claim was made some time ago, so the operation may have to return to its
             * queue. */
            if
            :: !cancelled[o] && (stage[o] != served || (q == 0 && suspended)) ->
#ifndef BREAK_RETURN_LATE       /* returns the permits after the operation may be claimed anew */
                returnPermits(o, true);
                admitGranted();
#endif
                atomic {
                    phase[o] = waiting;
                    claimedAlone[o] = false
                }
                atomic { running[q] = running[q] - (holdsSlot -> 1 : 0); holdsSlot = false }
                atomic { mayBeReady(o) }
                makeReady(o)
#ifdef BREAK_RETURN_LATE
                ;
                returnPermits(o, true);
                admitGranted()
#endif
            :: else ->
                atomic {
                    if
                    :: !isReady(o) && !cancelled[o] ->      /* a dependency was added late */
                        runs = false;
                        flag = true
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
                :: flag ->
                    flag = false;
                    returnPermits(o, true);
                    admitGranted();
                    atomic { phase[o] = waiting; claimedAlone[o] = false }
                    atomic { running[q] = running[q] - (holdsSlot -> 1 : 0); holdsSlot = false }
                    atomic { mayBeReady(o) }
                    makeReady(o)
                :: else ->
                    /* The body, which needs the permits until its end. */
                    if
                    :: runs -> assert(stage[o] == served)
                    :: else
                    fi;
                    atomic {
#ifdef RETRY
                        if
                        :: runs && o == 0 && attempts[0] == 1 && !cancelled[0] ->
                            phase[o] = waiting;
                            onHold[o] = true;
                            claimedAlone[o] = false;
                            flag = true
                        :: else -> phase[o] = finished
                        fi;
#else
                        phase[o] = finished;
#endif
                        runs = false
                    }
                    if
                    :: flag ->  /* another attempt: width slot, permits, then timer */
                        flag = false;
                        atomic { running[q] = running[q] - (holdsSlot -> 1 : 0); holdsSlot = false }
#ifdef BREAK_TIMER_FIRST        /* the attempt may begin before the permits are returned */
                        timerIsSet = true;
#endif
                        returnPermits(o, false);
                        admitGranted();
                        timerIsSet = true
                    :: else ->
                        /* The end: the permits are returned, the operation leaves its queue, other
                         * requests are granted. */
                        atomic {
                            if
                            :: stage[o] == served -> returnToBudgets(o)
                            :: else
                            fi;
#ifdef BREAK_END                /* a finished operation stays in line */
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
                            inReadyQueue[o] = false;
                            inCancelledList[o] = false
                        }
#ifndef BREAK_GRANT             /* the end of an operation grants nothing */
                        atomic { grantPermits() }
                        admitGranted()
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
    bool mustMakeReady;
    do
    :: timerIsSet -> timerIsSet = false; releaseHold(0)
    :: phase[0] == finished && !timerIsSet -> break
    od
}
#endif

#ifdef CANCEL
active proctype Canceller() {
    bool mustMakeReady;
    atomic {
        if
        :: phase[1] != finished -> cancelled[1] = true; mayBeReady(1)
        :: else
        fi
    }
    makeReady(1);
    /* An operation in the ready queue moves to the cancelled list, which needs no width slot. */
    atomic {
        if
        :: inReadyQueue[1] && cancelled[1] -> inReadyQueue[1] = false; inCancelledList[1] = true
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

#ifdef RANK
active proctype Raiser() {
    bool wasGranted[OPERATIONS];
    bool mustMakeReady;
    byte g;
#ifndef BREAK_RANK              /* the request moves before its operation has the new priority */
    isRaised = true;
#endif
    atomic {
        if
        :: ticket[2] != 0 && !isTicketRaised && stage[2] == inLine ->
            lastTicket++;
            ticket[2] = lastTicket;
            isTicketRaised = true;
            grantPermits()
        :: ticket[2] != 0 && !isTicketRaised && stage[2] != inLine -> ticket[2] = 0
        :: else
        fi
    }
#ifdef BREAK_RANK
    isRaised = true;
#endif
    admitGranted();
    assert(ticket[2] == 0 || isTicketRaised)
}
#endif

#ifdef DEPEND
active proctype Dependency() {
    bool mustMakeReady;
    atomic {
        if
        :: phase[1] == waiting || phase[1] == queued -> count[1]++
        :: else -> goto done
        fi
    }
    atomic {                    /* takes the operation off the ready queue, if it is there */
        if
        :: phase[1] == queued && inReadyQueue[1] -> inReadyQueue[1] = false; phase[1] = waiting
        :: else
        fi
    }
    atomic { count[1]--; mayBeReady(1) }
    makeReady(1);
done:
    skip
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            phase[i] = queued;
            inReadyQueue[i] = true;
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
    /* All operations end, and all permits are returned. If not, this process waits here for ever,
     * which is an invalid end state. */
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
