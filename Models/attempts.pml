/* Attempts: which thread decides what follows the end of a body, when a timeout, a deadline and a
 * cancellation come at the same time. See Attempts.md.
 *
 * An operation has up to two attempts. Each attempt has a timeout, and the operation has a
 * deadline. The body succeeds or fails. A timer fires at any time after it was set, or never, if it
 * was cancelled in time. A cancellation of a timer can always come too late.
 *
 * One atomic step is one hold of the operation's lock, one event of its AttemptState, or one
 * exchange of the lifecycle state.
 *
 * Sources:
 *   Operations/Lifecycle/LifecycleState+Events.swift
 *   Operations/Outcome/FailureRecord.swift
 *   Operations/Traits/AttemptController.swift
 *   Operations/Traits/AttemptState.swift
 *   Operations/Traits/Hold.swift
 *   Operations/Traits/Operation+Attempts.swift
 */

#define LIMIT  2                /* attempts */
#define NONE   0

mtype = { waiting, queued, executing, finished };
mtype = { pending, holding, running, expiring, returned, timedOut };
mtype = { byBody, byTimeout, byDeadline };      /* the cause of the failure */

/* The lifecycle state */
mtype phase = queued;
bool  cancelled, failed, expired, onHold;
bool  holdsSlot;
/* The queue: the slots that are taken */
byte  slots;
/* The extras: the failure, with a number that distinguishes it from earlier ones */
byte  failure = NONE;           /* 0: no failure; otherwise its number */
byte  lastFailure;
mtype failureIs;

/* AttemptState. The phase over is left out, and only attempts are counted. The phase returned is
 * expiring(bodyHasReturned: true), and timedOut is expired. */
byte  serial;
mtype attemptPhase = pending;
bool  hasPassedDeadline;

/* Counters that the assertions check */
byte  decisions[LIMIT + 1];     /* by attempt */
bool  isDeadlineRecorded;       /* the failure by the deadline was recorded */
bool  timerIsSet;               /* the timer that ends the hold */
byte  actors;

inline mayBeReady() {
    if
    :: phase == waiting && (!onHold || cancelled) -> phase = queued
    :: else
    fi
}

/* Records a failure. The first failure counts, and none after a cancellation. */
inline fail(why) {
    atomic {
        if
        :: phase != finished && failure == NONE ->
            lastFailure++;
            failure = lastFailure;
            failureIs = why;
            if
            :: !cancelled && !failed ->
                failed = true;
                isDeadlineRecorded = (isDeadlineRecorded || why == byDeadline)
            :: else
            fi
        :: else
        fi
    }
}

#ifdef BREAK_CANCELLED          /* another attempt follows even after a cancellation */
#define isStopped  false
#else
#define isStopped  cancelled
#endif
#ifdef BREAK_FAILURE            /* another attempt follows even after a new failure */
#define isUnchanged  true
#else
#define isUnchanged  (!hasPassedDeadline && failure == seenFailure)
#endif
#ifdef BREAK_SLOT               /* the slot is returned to the queue in which the operation is */
#define isSlotOurs  (phase != finished)
#else
#define isSlotOurs  true
#endif

/* The body of `attempt` has ended, and the caller decides what follows. */
inline decide(attempt) {
    decisions[attempt]++;
    assert(decisions[attempt] == 1);
    seenFailure = NONE;
    goesBack = false;
    if
    :: cancelled
    :: else ->
        seenFailure = failure;  /* the predicate is called without a lock */
        if
        :: seenFailure != NONE && !hasPassedDeadline && serial < LIMIT ->
            atomic { assert(attemptPhase == pending); attemptPhase = holding }
            atomic {
                if
                :: phase == executing && !isStopped && isUnchanged ->
                    assert(!cancelled);
                    goesBack = true;
                    phase = waiting;
                    holdsSlot = false;
                    onHold = true;
                    failed = false;
                    expired = false;
                    failure = NONE
                :: else
                fi
            }
        :: else
        fi
    fi;
    if
    :: goesBack ->
        /* From here on a cancelled operation can end and leave its queue. */
        atomic {
            if
            :: isSlotOurs -> slots--
            :: else
            fi
        }
        timerIsSet = true
    :: else ->
        atomic {
            assert(phase != finished && holdsSlot);
            phase = finished;
            holdsSlot = false;
            slots--
        }
    fi
}

/* The timeout of an attempt fires, or is cancelled. */
proctype Timeout(byte timedAttempt) {
    bool goesBack, mustAct;
    byte seenFailure;

    if
    :: true                     /* cancelled in time */
    :: true ->
        atomic {
            if
#ifdef BREAK_SERIAL             /* the timer stops any attempt that is running */
            :: attemptPhase == running -> attemptPhase = expiring; mustAct = true
#else
            :: serial == timedAttempt && attemptPhase == running ->
                attemptPhase = expiring; mustAct = true
#endif
            :: else
            fi
        }
        if
        :: mustAct ->
            fail(byTimeout);
            if
            :: cancelled
            :: else ->
                atomic {
                    if
                    :: phase == executing && failed && !cancelled && !expired ->
                        assert(serial == timedAttempt);
                        expired = true
                    :: else
                    fi
                }
            fi;
            atomic {
                mustAct = (attemptPhase == returned);
                if
                :: attemptPhase == returned -> attemptPhase = pending
                :: attemptPhase == expiring -> attemptPhase = timedOut
                :: else
                fi
            }
            if
            :: mustAct -> decide(timedAttempt)
            :: else
            fi
        :: else
        fi
    fi;
    actors--
}

/* The workers. Each attempt may be on another thread, but the attempts do not overlap. */
proctype Worker() {
    bool goesBack;
    byte seenFailure;
    bool decides;

    do
    :: phase == finished -> break
    :: phase == queued ->
        atomic {
            if
            :: cancelled -> phase = finished
            :: else ->
                /* The phase starting is left out. */
                phase = executing;
                holdsSlot = true;
                slots++;
                assert(!onHold && !expired && (failure == NONE || failureIs == byDeadline))
            fi
        }
        if
        :: phase == finished -> break
        :: else
        fi;
        atomic {
            serial++;
            assert(attemptPhase == pending);
            attemptPhase = running;
            actors++;
            run Timeout(serial)
        }
        if
        :: fail(byBody)
        :: true
        fi;
        atomic {
            decides = true;
#ifndef BREAK_INHERIT           /* the worker decides while a timer is about to stop the attempt */
            if
            :: attemptPhase == expiring -> attemptPhase = returned; decides = false
            :: else
            fi;
#endif
            if
            :: decides -> attemptPhase = pending
            :: else
            fi
        }
        if
        :: decides -> decide(serial)
        :: else
        fi
    od;
    actors--
}

/* Ends the hold between attempts. */
active proctype HoldTimer() {
    do
    :: timerIsSet ->
        timerIsSet = false;
        atomic { assert(attemptPhase == holding); attemptPhase = pending }
        atomic { onHold = false; mayBeReady() }
    :: phase == finished && !timerIsSet -> break
    od
}

proctype Deadline() {
    if
    :: phase == finished
    :: else ->
        hasPassedDeadline = true;
        fail(byDeadline);
        atomic {
            if
            :: phase != finished -> cancelled = true; mayBeReady()
            :: else
            fi
        }
    fi;
    actors--
}

#ifdef CANCEL
proctype Canceller() {
    atomic {
        if
        :: phase != finished -> cancelled = true; mayBeReady()
        :: else
        fi
    }
    actors--
}
#endif

init {
    atomic {
        actors = 2;
        run Worker();
        run Deadline();
#ifdef CANCEL
        actors++;
        run Canceller()
#endif
    }
    actors == 0;
    /* The operation has finished, no recorded failure is lost, and a success is a success. */
    assert(phase == finished && slots == 0);
    assert(!isDeadlineRecorded || (failed && failureIs == byDeadline));
    assert(!failed || failure != NONE);
#ifndef CANCEL
    /* An operation that the deadline cancelled counts as failed. */
    assert(!cancelled || failed);
#endif
    assert(!expired || failed)
}
