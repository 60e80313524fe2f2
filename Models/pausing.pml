/* Pausing: one pause of a queue, two workers that claim jobs, and the program that pauses. See
 * "Pauses" in Protocol.md of DurableJobs.
 *
 * The claim of a worker may be under way when the pause is committed, and its jobs may wait in the
 * worker. A worker may register while the program asks who has not answered. A worker may lose its
 * lease, and register again. In every order no job begins after the call has returned, and the call
 * returns.
 *
 * One atomic step is one statement of the store, or one decision under the lock of a worker.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Pausing.swift
 *   DurableJobs/Queue/JobQueue+Pausing.swift
 *   DurableJobs/Worker/JobWorker+Maintaining.swift
 */

#define INCARNATIONS 2          /* of each worker, which keep the search finite */
#define CLAIMS 2

bool revision;                  /* of the pauses in the store */
bool hasReturned;               /* the call of the program */

/* The row of each worker: whether others see it, its lease, and the revision that it obeys. */
bool hasRow[2], hasLease[2], obeyed[2];
/* What each worker knows. */
bool known[2];
byte holds[2];                  /* jobs that have not begun */

proctype Worker(byte me) {
    byte incarnations, claims;
    bool sees, mayTake;

    do
    :: atomic {                 /* its row is committed: the lease begins */
            !hasRow[me] && incarnations < INCARNATIONS ->
            incarnations++; hasRow[me] = true; hasLease[me] = true; obeyed[me] = false
        }
    :: atomic {                 /* the lease ends, and with it all that the worker holds */
            hasRow[me] && hasLease[me] -> hasLease[me] = false; holds[me] = 0
        };
        hasRow[me] = false
    :: hasRow[me] && hasLease[me] && claims < CLAIMS ->
        claims++;
        /* The first statement of the claim reads the revision. */
        atomic {
            sees = revision;
#ifdef BREAK_REVISION           /* takes jobs whatever the store says */
            mayTake = true
#else
            mayTake = hasLease[me] && sees == known[me] && !known[me]
#endif
        };
        /* A later statement takes a job, and the answer comes. */
        atomic {
            if
            :: mayTake && hasLease[me] -> holds[me]++
            :: else
            fi
        }
    :: atomic {                 /* a body is about to begin */
            holds[me] > 0 && hasLease[me] ->
            holds[me]--;
#ifdef BREAK_GATE               /* looks at the pauses when it claims only */
            assert(!hasReturned)
#else
            if
            :: known[me]        /* is handed back */
            :: else -> assert(!hasReturned)
            fi
#endif
        }
    :: atomic { hasReturned && holds[me] == 0 -> break }
    od
}

/* The background steps of each worker, which are another thread. */
proctype Upkeep(byte me) {
end:
    do
    :: hasRow[me] && hasLease[me] && revision != obeyed[me] ->
#ifdef BREAK_ANSWER             /* answers before it obeys */
        atomic { hasLease[me] -> obeyed[me] = true };
        known[me] = true
#else
        known[me] = true;
        atomic {
            if
            :: hasLease[me] -> obeyed[me] = true
            :: else             /* the row is gone */
            fi
        }
#endif
    od
}

#define isBehind(it) (hasRow[it] && hasLease[it] && !obeyed[it])

active proctype Program() {
    revision = true;
#ifndef BREAK_WAIT              /* returns when the pause is committed */
    atomic { !isBehind(0) && !isBehind(1) -> skip };
#endif
    hasReturned = true
}

init {
    atomic { run Worker(0); run Worker(1); run Upkeep(0); run Upkeep(1) }
}
