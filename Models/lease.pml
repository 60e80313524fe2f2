/* Leases: one durable job, two workers, a rescuer and a sweeper. See Protocol.md of DurableJobs.
 *
 * A worker may pause between any two steps. It may lose its lease at any time, lose the answer to
 * its commit and send the commit again, fail, or crash. In every order of events the job is
 * committed at most once; the worker that holds the lease and succeeds wins; the published file is
 * the committed one, and is published once; no job is left behind.
 *
 * One atomic step is one transaction of the store, or one change of a folder.
 *
 * Sources:
 *   DurableJobs/Store
 *   DurableJobs/Worker
 */

mtype = { available, running, completed, discarded };

#define LIMIT 4                 /* attempts; then the job is discarded */

/* The row of the job */
mtype state = available;
byte  attempt, owner;
byte  result;                   /* the attempt whose result was committed */
bool  published;

/* The folder: one staged file for each attempt, and the final name */
bool  staged[LIMIT + 1];
byte  final;                    /* the attempt that wrote the file with the final name */

/* Counters that the assertions check, and limits that keep the search finite */
byte  commits, publications;
bool  expired[LIMIT + 1];       /* the rescuer took this attempt's lease away */
byte  crashes, expiries, failures;
byte  workers = 2;
bool  hasDied[3];

#define isOver (state == completed || state == discarded)

/* The condition of each statement by which a worker ends an attempt */
#ifdef BREAK_UNGUARDED          /* asks for nothing but the job's number */
#define isMine(a) (true)
#else
#ifdef BREAK_RUNNING            /* asks whether the job is running, not whose attempt it is */
#define isMine(a) (state == running)
#else
#define isMine(a) (state == running && attempt == a && owner == me)
#endif
#endif

/* Renames the staged file of an attempt. Only one thread can succeed. */
inline publish(a) {
    atomic {
        if
        :: staged[a] -> staged[a] = false; final = a; publications++
        :: else
        fi
    }
}

inline mayCrash() {
    if
    :: atomic { crashes < 1 -> crashes++; goto dead }
    :: skip
    fi
}

proctype Worker(byte me) {
    byte a;
    bool hasWon, hasFailed, hasLostLease;
    do
    :: atomic {
            state == available && attempt < LIMIT ->
            state = running;
            attempt++;
            a = attempt;
            owner = me
        };
        hasFailed = false;
        hasLostLease = false;
        if
        :: atomic { failures < 2 -> failures++; hasFailed = true }
        :: skip
        fi;
        if
        :: hasFailed ->
            atomic {
                if
                :: isMine(a) -> state = (attempt < LIMIT -> available : discarded)
                :: else
                fi
            }
        :: else ->
#ifdef BREAK_DIRECT             /* writes to the final name before the commit */
            atomic { final = a; publications++ };
#else
            staged[a] = true;
#endif
            mayCrash();
again:      hasWon = false;
            atomic {
                if
                :: isMine(a) -> state = completed; result = a; commits++; hasWon = true
#ifndef BREAK_NO_REPEAT         /* a repeated commit does not recognise the first one */
                :: !isMine(a) && state == completed && result == a -> hasWon = true
#endif
                :: else
                fi
            };
            if
            :: goto again       /* the answer was lost */
            :: hasLostLease = true      /* the answer was lost, and then the lease */
            :: skip
            fi;
            assert(hasLostLease || hasWon || expired[a]);
            mayCrash();
#ifdef BREAK_DIRECT
            if
            :: hasWon && !hasLostLease -> published = true
            :: else
            fi
#else
            if
            :: hasLostLease ->
#ifdef BREAK_FORGET             /* deletes the file of a result that may be committed */
                staged[a] = false
#else
                skip
#endif
            :: hasWon && !hasLostLease -> publish(a); published = true
            :: else -> staged[a] = false
            fi
#endif
        fi
    :: isOver -> break
    od;
dead:
    atomic {
        if
        :: !isOver -> hasDied[me] = true
        :: else
        fi;
        workers--
    }
}

proctype Rescuer() {
    do
    :: atomic {
            state == running && (expiries < 2 || hasDied[owner]) ->
            expired[attempt] = true;
            if
            :: hasDied[owner]
            :: else -> expiries++
            fi;
            state = (attempt < LIMIT -> available : discarded)
        }
    :: isOver -> break
    :: workers == 0 -> break
    od
}

/* Publishes for a worker that died after its commit. */
proctype Sweeper() {
    isOver;
#ifndef BREAK_NO_SWEEP          /* leaves the publication to the worker */
    do
    :: state == completed && !published -> publish(result); published = true
    :: published || state == discarded -> break
    od
#endif
}

/* A machine on which the path of the folder leads elsewhere, to an older file of the final name. */
proctype Stranger() {
    isOver;
#ifdef BREAK_NAME               /* takes a file with the final name for the published one */
    atomic {
        if
        :: state == completed && !published -> published = true
        :: else
        fi
    }
#endif
}

init {
    atomic {
        run Worker(1);
        run Worker(2);
        run Rescuer();
        run Sweeper();
        run Stranger()
    }
    (_nr_pr == 1);
    assert(isOver && commits <= 1);
    assert(state != discarded || (commits == 0 && publications == 0));
    assert(state != completed
        || (published && final == result && commits == 1 && publications == 1))
}
