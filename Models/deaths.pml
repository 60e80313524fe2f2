/* Deaths of workers: one durable job, and three workers, each in a process of its own. See steps 7
 * and 8 in Protocol.md of DurableJobs.
 *
 * A worker may lose its lease at any time, because its process or the database stands still, and
 * come back later with a new incarnation. Then it records that the old incarnation has not died, and
 * hands the job back, unless another transaction has locked the job. The row of the job lists the
 * incarnations that were missing when others took the job. A process may also crash, and never come
 * back. In every order, a job has no more deaths than there are processes that are away or have
 * crashed, and it is discarded only if as many processes as the limit have crashed.
 *
 * With STOP, one worker may be stopped. It then ends its lease, and never comes back. If it has lost
 * the lease before, it records that it has not died, and hands the job back, as if it came back.
 *
 * Patience is a condition here: a worker counts as dead when every process that can come back has
 * done so.
 *
 * One atomic step is one transaction of the store, but for the rescue, which reads and writes in two
 * steps, between which it has locked the job.
 *
 * Sources:
 *   DurableJobs/Store/Deaths.swift
 *   DurableJobs/Store/JobStore+Workers.swift
 *   DurableJobs/Worker/JobWorker+Lease.swift
 *   DurableJobs/Worker/MissingWorkers.swift
 */

mtype = { available, running, completed, discarded };

#define WORKERS 3
#define LIMIT   2               /* deaths; then the job is discarded */
#define LOSSES  3               /* leases that are lost and come back, which keep the search finite */
#ifdef CRASH_TWO
#define CRASHES 2
#else
#define CRASHES 1
#endif

/* The row of the job: which incarnation has it, and which incarnation of each worker is listed */
mtype state = available;
byte  owner, ownerIncarnation;
byte  listed[WORKERS + 1];
bool  isLocked;

/* Each worker: its incarnation, the last one that has come back, its lease, its process */
byte  incarnation[WORKERS + 1], returned[WORKERS + 1];
bool  hasLease[WORKERS + 1], hasCrashed[WORKERS + 1], hasStopped[WORKERS + 1];
byte  losses, failures, crashes, stops, workers = WORKERS;

#define isOver (state == completed || state == discarded)
#define isAway(w) (!hasLease[w] && !hasCrashed[w] && !hasStopped[w])
#define someoneIsAway (isAway(1) || isAway(2) || isAway(3))
#define missing ((hasLease[1] -> 0 : 1) + (hasLease[2] -> 0 : 1) + (hasLease[3] -> 0 : 1))
#define counts(w) (listed[w] > returned[w] -> 1 : 0)
#define owns(w) (state == running && owner == w && ownerIncarnation == incarnation[w])
#define isAbandoned (state == running && !isLocked && (!hasLease[owner] || !owns(owner)))

/* Whether the death of the job's worker counts, and the number of deaths with it */
#define isListedNext (ownerIncarnation > returned[owner] -> 1 : 0)
#define allDeaths (counts(1) + counts(2) + counts(3) + isListedNext)
#ifdef BREAK_PATIENCE           /* discards at once */
#define mustWait false
#else
#define mustWait (allDeaths >= LIMIT && isListedNext && someoneIsAway)
#endif

proctype Worker(byte me) {
    do
    :: atomic {
            hasLease[me] && state == available ->
            state = running; owner = me; ownerIncarnation = incarnation[me]
        }
    :: atomic {                 /* completes the job, or hands it back, or fails */
            hasLease[me] && owns(me) && !isLocked ->
            listed[1] = 0; listed[2] = 0; listed[3] = 0;
            if
            :: state = completed
            :: failures < 1 -> failures++; state = available
            fi
        }
    :: atomic { hasLease[me] && losses < LOSSES -> losses++; hasLease[me] = false }
    :: atomic {                 /* comes back */
            !hasLease[me] ->
            if
            :: owns(me) && !isLocked -> state = available
            :: else
            fi;
#ifdef BREAK_RETURN             /* leaves a death that was counted for it */
            skip;
#else
#ifdef BREAK_LOCKED             /* takes the death back in the row of the job, if that is free */
            if
            :: !isLocked && listed[me] == incarnation[me] -> listed[me] = 0
            :: else
            fi;
#else
            returned[me] = incarnation[me];
#endif
#endif
            incarnation[me]++;
            hasLease[me] = true
        }
#ifdef STOP
    :: atomic {                 /* hands the job back before, if it has a lease */
            stops < 1 && (!hasLease[me] || !owns(me)) ->
            if
            :: owns(me) && !isLocked -> state = available
            :: else
            fi;
#ifndef BREAK_STOP              /* only ends the lease that it has */
            returned[me] = incarnation[me];
#endif
            stops++; hasStopped[me] = true; hasLease[me] = false
        };
        break
#endif
#ifdef CRASH
    :: atomic {
            crashes < CRASHES && hasLease[me] ->
            crashes++; hasCrashed[me] = true; hasLease[me] = false
        };
        break
#endif
    :: isOver -> break
    od;
    workers--
}

proctype Rescuer() {
    byte deaths;
    bool isDeath;

    do
    :: atomic {
            isAbandoned && !mustWait ->
            isDeath = isListedNext;
            deaths = allDeaths;
            isLocked = true;
#ifndef BREAK_RETURN
#ifndef BREAK_LOCKED
            assert(deaths <= missing)
#endif
#endif
        };
        atomic {
            if
            :: isDeath -> listed[owner] = ownerIncarnation
            :: else
            fi;
            if
            :: deaths >= LIMIT && isDeath -> state = discarded; assert(crashes >= LIMIT)
            :: else -> state = available
            fi;
            isLocked = false
        }
    :: isOver -> break
    :: workers == 0 && !isAbandoned -> break
    od
}

init {
    atomic {
        byte w;
        for (w : 1 .. WORKERS) {
            hasLease[w] = true;
            incarnation[w] = 1
        }
        run Worker(1);
        run Worker(2);
        run Worker(3);
        run Rescuer()
    }
    (_nr_pr == 1);
    assert(state == completed || crashes >= LIMIT)
}
