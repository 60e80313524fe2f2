/* Suspects: one job that may have killed its workers, two workers that have other jobs to do, and
 * the store. See step 7 in Protocol.md of DurableJobs.
 *
 * A worker that holds nothing may take the suspect at any time. When the suspect has waited for
 * long, one worker, which the store chooses among those that have a lease, claims nothing more until
 * it has taken the suspect. The chosen worker may die, and then the store chooses another one. In
 * every order the suspect runs alone in its worker, at most one worker stops its claims, and the
 * suspect ends.
 *
 * One atomic step is one transaction of the store.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Exchanging.swift
 *   DurableJobs/Worker/Suspects.swift
 *   DurableJobs/Worker/WorkerState.swift
 */

#define OTHERS 6                /* jobs, which keep the search finite */
#define WIDTH  2

bool isReady = true, hasEnded;  /* the suspect */
bool hasWaited;                 /* for long */
byte others = OTHERS;

/* What each worker holds, and whether it claims nothing more */
byte holds[3];
bool hasSuspect[3], isAlone[3], hasLease[3], hasDied;

#ifdef BREAK_ALL                /* each worker stops its claims */
#define chosen(me) (hasLease[me])
#else
#define chosen(me) (hasLease[me] && (me == 1 || !hasLease[1]))
#endif

/* A worker that stops its claims looks again when it holds nothing. */
#define mayClaim(me) (!hasSuspect[me] && (!isAlone[me] || (holds[me] == 0 && !isReady)))

proctype Worker(byte me) {
    do
    :: atomic {                 /* claims another job */
            hasLease[me] && others > 0 && holds[me] < WIDTH && mayClaim(me) ->
            others--;
            holds[me]++;
            /* The answer to a claim says whether the worker is the chosen one. */
            isAlone[me] = isReady && hasWaited && chosen(me);
            assert(!(isAlone[1] && isAlone[2] && hasLease[1] && hasLease[2]))
        }
    :: atomic { hasLease[me] && holds[me] > 0 -> holds[me]-- }
    :: atomic {                 /* claims the suspect */
#ifdef BREAK_BUSY               /* also while it holds other jobs */
            hasLease[me] && isReady ->
#else
            hasLease[me] && isReady && holds[me] == 0 ->
#endif
            isReady = false;
            hasSuspect[me] = true;
            isAlone[me] = true;
            assert(holds[me] == 0)
        }
    :: atomic {
            hasLease[me] && hasSuspect[me] ->
            hasSuspect[me] = false;
            isAlone[me] = false;
            hasEnded = true
        }
    :: atomic {                 /* dies; the rescuer makes its jobs ready again */
            hasLease[me] && !hasDied ->
            hasDied = true;
            hasLease[me] = false;
            others = others + holds[me];
            holds[me] = 0;
            isAlone[me] = false;
            if
            :: hasSuspect[me] -> hasSuspect[me] = false; isReady = true
            :: else
            fi
        };
        break
    :: hasEnded && others == 0 && holds[1] + holds[2] == 0 -> break
    od
}

init {
    atomic {
        hasLease[1] = true;
        hasLease[2] = true;
        run Worker(1);
        run Worker(2)
    }
    hasWaited = true;
    (_nr_pr == 1);
    assert(hasEnded && others == 0)
}
