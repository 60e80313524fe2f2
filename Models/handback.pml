/* Handing back: one durable job, two workers that claim it and may hand it back because it has not
 * begun in time, and for each claim the thread that is about to begin the body. See step 9 in
 * Protocol.md of DurableJobs.
 *
 * The worker's loop and the thread of the body agree under the lock of the attempt's record. In
 * every order no body begins whose job was handed back, no two bodies run at a time, and the number
 * of the attempt is the number of bodies that have begun.
 *
 * One atomic step is one transaction of the store, or one change of a record under its lock.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Exchanging.swift
 *   DurableJobs/Worker/AttemptRecord.swift
 *   DurableJobs/Worker/UnbegunJobs.swift
 *   DurableJobs/Worker/WorkerState.swift
 */

mtype = { available, running, completed };

#define CLAIMS 3                /* keep the search finite */

/* The row of the job */
mtype state = available;
byte  attempt, claim;

/* The record of each claim */
bool  hasBegun[CLAIMS + 1], isReturned[CLAIMS + 1];

byte  claims, bodies, begun;

/* The operation of a claimed job gets a slot, sooner or later, also after its cancellation. */
proctype Body(byte c) {
    bool mayBegin;
#ifdef BREAK_BEGIN              /* asks whether the job was handed back, and then begins */
    mayBegin = !isReturned[c];
    hasBegun[c] = mayBegin;
#else
    atomic { mayBegin = !isReturned[c]; hasBegun[c] = mayBegin };
#endif
    if
    :: mayBegin ->
        bodies++;
        begun++;
        assert(bodies == 1);
        bodies--;
        atomic {
            assert(state == running && claim == c);
            state = completed
        }
    :: else
    fi
}

proctype Worker() {
    byte mine;
    do
    :: atomic {
            state == available ->
            claims++;
            mine = claims;
            claim = claims;
            state = running;
            attempt++;
            run Body(claims)
        }
    :: mine > 0 && claims < CLAIMS && !hasBegun[mine] ->
                                /* a second has passed */
        if
#ifdef BREAK_RETURN             /* does not ask again whether the body has begun */
        :: atomic { isReturned[mine] = true };
#else
        :: atomic { !hasBegun[mine] -> isReturned[mine] = true };
#endif
            atomic {
                state = available;
#ifndef BREAK_COUNT             /* the number of the attempt stays */
                attempt--;
#endif
                mine = 0
            }
        :: hasBegun[mine]
        fi
    :: state == completed -> break
    od
}

init {
    atomic {
        run Worker();
        run Worker()
    }
    (_nr_pr == 1);
    assert(state == completed && begun == 1 && attempt == 1)
}
