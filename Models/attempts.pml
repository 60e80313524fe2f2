/* Attempts: who decides what follows on the end of a body, when a timeout, a deadline and a cancellation
 * come at the same time. Attempts.md. Operation+Attempts.swift,
 * AttemptController.swift, Operation+Outcome.swift (fail).
 *
 * An operation may be tried twice; each attempt has a timeout, and all together have a deadline. Its body
 * succeeds or fails. A timer fires at any time after it was set, or, being cancelled, not at all; that it is
 * cancelled too late is always possible.
 *
 * One atomic step is one hold of the lock of the operation or of its AttemptController, or one exchange of its word.
 */

#define LIMIT  2                /* attempts */
#define NONE   0

mtype = { waiting, filed, executing, finished };
mtype = { noExpiry, underWay, inherited, over };
mtype = { byBody, byTimeout, byDeadline };      /* whose failure it is */

/* The word */
mtype phase = filed;
bool  cancelled, failed, expired, held;
/* The extras: the failure, told from earlier ones by the attempt that it belongs to */
byte  failure = NONE;           /* 0: none; else its number */
byte  lastFailure;
mtype failureIs;

/* AttemptController */
byte  serial;
bool  isBodyRunning, hasPassedDeadline;
mtype expiry = noExpiry;

/* What is counted to be checked */
byte  decisions[LIMIT + 1];     /* by attempt */
bool  deadlineCounts;           /* the failure of the deadline was taken down */
bool  timerIsSet;               /* that which ends the hold */
byte  actors;

inline file() {
    if
    :: phase == waiting && (!held || cancelled) -> phase = filed
    :: else
    fi
}

/* Says that the work came to an error; the first one counts, and none after a cancellation. */
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
                deadlineCounts = (deadlineCounts || why == byDeadline)
            :: else
            fi
        :: else
        fi
    }
}

#ifdef BREAK_STOPPED            /* another attempt also of one that was cancelled meanwhile */
#define isStopped  false
#else
#define isStopped  cancelled
#endif
#ifdef BREAK_FAILURE            /* another attempt whatever has come since that was decided */
#define isAsItWas  true
#else
#define isAsItWas  (!hasPassedDeadline && failure == seen)
#endif

/* The body is over: what follows is the caller's to decide. `attempt` is the one that this is about. */
inline decide(attempt) {
    decisions[attempt]++;
    assert(decisions[attempt] == 1);
    seen = NONE;
    goesBack = false;
    if
    :: cancelled
    :: else ->
        seen = failure;         /* the predicate is asked without a lock */
        if
        :: seen != NONE && !hasPassedDeadline && serial < LIMIT ->
            atomic {
                if
                :: phase == executing && !isStopped && isAsItWas ->
                    assert(!cancelled);
                    goesBack = true;
                    phase = waiting;
                    held = true;
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
    :: goesBack -> timerIsSet = true
    :: else -> atomic { assert(phase != finished); phase = finished }
    fi
}

/* The time of an attempt is over, perhaps. */
proctype Timeout(byte mine) {
    bool goesBack, isMine;
    byte seen;

    if
    :: true                     /* cancelled in time */
    :: true ->
        atomic {
            if
#ifdef BREAK_SERIAL             /* it stops whatever attempt is going on */
            :: isBodyRunning && expiry == noExpiry -> expiry = underWay; isMine = true
#else
            :: serial == mine && isBodyRunning && expiry == noExpiry -> expiry = underWay; isMine = true
#endif
            :: else
            fi
        }
        if
        :: isMine ->
            fail(byTimeout);
            if
            :: cancelled
            :: else ->
                atomic {
                    if
                    :: phase == executing && failed && !cancelled && !expired ->
                        assert(serial == mine);
                        expired = true
                    :: else
                    fi
                }
            fi;
            atomic {
                isMine = (expiry == inherited);
                if
                :: isMine -> expiry = noExpiry
                :: else -> expiry = over
                fi
            }
            if
            :: isMine -> decide(mine)
            :: else
            fi
        :: else
        fi
    fi;
    actors--
}

/* Workers that run it: each attempt may be on another thread, but one comes after the other. */
proctype Worker() {
    bool goesBack;
    byte seen;
    mtype end;

    do
    :: phase == finished -> break
    :: phase == filed ->
        atomic {
            if
            :: cancelled -> phase = finished
            :: else ->
                /* starting; what the earlier attempt was told is forgotten */
                phase = executing;
                assert(!held && !expired && (failure == NONE || failureIs == byDeadline))
            fi
        }
        if
        :: phase == finished -> break
        :: else
        fi;
        atomic {
            serial++;
            isBodyRunning = true;
            expiry = noExpiry;
            actors++;
            run Timeout(serial)
        }
        if
        :: fail(byBody)
        :: true
        fi;
        atomic {
            isBodyRunning = false;
#ifdef BREAK_INHERIT            /* it decides by itself, though a timer is still about to stop this attempt */
            end = over;
#else
            if
            :: expiry == underWay -> expiry = inherited; end = inherited
            :: else -> end = over
            fi
#endif
        }
        if
        :: end == over -> decide(serial)
        :: else
        fi;
        end = noExpiry
    od;
    actors--
}

/* Ends the hold between attempts. */
active proctype HoldTimer() {
    do
    :: timerIsSet ->
        timerIsSet = false;
        atomic { held = false; file() }
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
            :: phase != finished -> cancelled = true; file()
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
        :: phase != finished -> cancelled = true; file()
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
    /* It is over, nothing of what was taken down is lost, and a success is one. */
    assert(phase == finished);
    assert(!deadlineCounts || (failed && failureIs == byDeadline));
    assert(!failed || failure != NONE);
#ifndef CANCEL
    /* What the deadline has cancelled counts as failed. */
    assert(!cancelled || failed);
#endif
    assert(!expired || failed)
}
