/* Deaths of workers: one durable job, and two workers, each in a process of its own. See steps 7 and
 * 8 in Protocol.md of DurableJobs.
 *
 * A worker may lose its lease at any time, because its process or the database stands still, and
 * come back later with a new incarnation. Then it hands back what its old incarnation held, or takes
 * back the death that somebody has counted meanwhile. A process may also crash, and never come back.
 * In every order, a job has no more deaths than there are processes that are away or have crashed.
 * So fewer workers than the limit never discard a job of which no process has died.
 *
 * One atomic step is one transaction of the store.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Workers.swift
 *   DurableJobs/Worker/JobWorker+Lease.swift
 */

mtype = { available, running, completed, discarded };

#define LIMIT  3                /* deaths; then the job is discarded */
#define LOSSES 4                /* leases that are lost and come back, which keep the search finite */

/* The row of the job */
mtype state = available;
byte  owner, deaths;

/* Whether each worker has a lease, and whether its process has crashed */
bool  hasLease[3];
bool  hasCrashed[3];
byte  losses, failures, workers = 2;

#define isOver (state == completed || state == discarded)
#define away ((!hasLease[1] -> 1 : 0) + (!hasLease[2] -> 1 : 0))

proctype Worker(byte me) {
    bool holds;                 /* what the worker remembers of its old incarnation */

    do
    :: atomic { hasLease[me] && state == available -> state = running; owner = me; holds = true }
    :: atomic {                 /* completes the job, or hands it back, or fails */
            hasLease[me] && holds && state == running && owner == me ->
            holds = false;
            deaths = 0;
            if
            :: state = completed
            :: failures < 2 -> failures++; state = available
            fi
        }
    :: atomic { hasLease[me] && losses < LOSSES -> losses++; hasLease[me] = false }
    :: atomic {                 /* comes back */
            !hasLease[me] ->
            hasLease[me] = true;
#ifndef BREAK_COUNTED           /* leaves a death that was counted for it */
            if
            :: holds && state == running && owner == me -> state = available
            :: holds && !(state == running && owner == me) && !isOver && deaths > 0 -> deaths--
            :: else
            fi;
#endif
            holds = false
        }
#ifdef CRASH
    :: atomic { !hasCrashed[1] && !hasCrashed[2] && hasLease[me] ->
            hasCrashed[me] = true; hasLease[me] = false }; break
#endif
    :: isOver -> break
    od;
    workers--
}

proctype Rescuer() {
    do
    :: atomic {
            state == running && !hasLease[owner] ->
            deaths++;
            owner = 0;
            state = (deaths < LIMIT -> available : discarded);
            assert(deaths <= away)
        }
    :: isOver -> break
    :: workers == 0 -> break
    od
}

init {
    atomic {
        hasLease[1] = true;
        hasLease[2] = true;
        run Worker(1);
        run Worker(2);
        run Rescuer()
    }
    (_nr_pr == 1);
    assert(state == completed)
}
