/* Completing in a transaction of the program: one durable job, the attempts that run it, each with
 * a transaction of the program that completes the job and writes a row, and the background steps of
 * the workers. See "Transactions of the program" in Protocol.md of DurableJobs.
 *
 * At any time a worker may be taken for dead: its job is available again, and its attempt goes on.
 * A worker may die at any time, and the program may roll its transaction back with or without an
 * error of the body. In every order the rows of the program are committed once, the end of the job
 * is counted once and its key freed once, and an attempt that has not committed is not taken for
 * one that has.
 *
 * One atomic step is one statement that changes the row of the job, or one transaction of the
 * store. A statement that meets the lock of an open transaction waits for its end, and then looks
 * again.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Completing.swift
 *   DurableJobs/Store/JobStore+Exchanging.swift
 *   DurableJobs/Worker/JobPerformer.swift
 */

mtype = { available, running, completed };
mtype = { none, wroteEnd };             /* what the open transaction has written */

#define ATTEMPTS 3                      /* keep the search finite */
#define NOBODY   0

/* The row of the job, as it is committed, and who has locked it */
mtype state = available;
byte  claim, locker;
bool  uncounted;

byte  claims, rows, counted, failures;
byte  attempts;                         /* that have not ended */
bool  isOver;                           /* nobody claims any more */
bool  hasKey;                           /* the exclusive key is taken */

#define isLockedFor(me) (locker != NOBODY && locker != (me))

proctype Attempt(byte me) {
    mtype wrote = none;
    bool hasCompleted, isCommitted, returns;

    /* The transaction of the program. It begins with the program's own row. */
    atomic {
        !isLockedFor(me) ->
        if
#ifdef BREAK_FENCE              /* completes whatever job is there */
        :: true ->
#else
        :: state == running && claim == me ->
#endif
            locker = me; wrote = wroteEnd; hasCompleted = true
        :: else                         /* fenced: rolls back */
        fi
    }
    if
    :: wrote == wroteEnd ->
        if
        :: atomic {                     /* commits */
                assert(rows == 0);
                state = completed; uncounted = true; rows++; isCommitted = true; locker = NOBODY
            }
        :: locker = NOBODY              /* rolls back */
        fi
    :: else
    fi;
    /* The body returns a result, or throws. What is fenced always throws. */
    if
    :: hasCompleted -> returns = true
    :: returns = false
    fi;
    if
    :: goto died                        /* the worker dies before it reports */
    :: skip
    fi;
    /* The report of the worker. */
    atomic {
        !isLockedFor(me) ->
        if
        :: state == running && claim == me ->
            if
#ifdef BREAK_RETURN             /* takes a body that has returned for one that has committed */
            :: returns -> state = completed; counted++; hasKey = false
            :: !returns -> failures++; state = available; hasKey = false
#else
            :: failures++; state = available; hasKey = false
#endif
            fi
        :: else                         /* an earlier end of its token, or fenced */
#ifdef BREAK_REPORT             /* counts the end that it finds, and leaves the mark */
            if
            :: state == completed && claim == me -> counted++
            :: else
            fi
#endif
        fi
    }
died:
    attempts--
}

/* Claims the job for an attempt. */
active proctype Claimer() {
    do
    :: atomic {
            claims < ATTEMPTS && state == available && !hasKey && locker == NOBODY ->
            claims++;
            claim = claims; state = running; hasKey = true;
            attempts++;
            run Attempt(claim)
        }
    :: atomic { state == completed && !uncounted -> break }
    :: atomic { claims == ATTEMPTS && state == available && attempts == 0 -> break }
    od;
    isOver = true
}

/* Takes a worker for dead, or finds that it is. */
active proctype Rescuer() {
end:
    do
    :: atomic {
            state == running && locker == NOBODY ->
            state = available; hasKey = false
        }
    od
}

/* The background step, of two workers. */
active [2] proctype Upkeep() {
#ifdef BREAK_MARK
    bool found;
#endif
end:
    do
#ifdef BREAK_MARK               /* looks for the mark, and removes it in another transaction */
    :: atomic { uncounted && locker == NOBODY -> found = true };
        atomic { found -> uncounted = false; counted++; hasKey = false; found = false }
#else
    :: atomic { uncounted && locker == NOBODY -> uncounted = false; counted++; hasKey = false }
#endif
    od
}

init {
    isOver && attempts == 0 && !uncounted;
    assert(rows <= 1);
    assert(state != completed || (rows == 1 && counted == 1 && !hasKey));
    assert(state == completed || (rows == 0 && counted == 0))
}
