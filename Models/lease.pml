/* Leases: one durable job, two workers, a rescuer and a sweeper. See Protocol.md of DurableJobs.
 *
 * A worker may pause between any two steps. It may lose its lease at any time, lose the answer to
 * its commit and send the commit again, fail, or crash. In every order of events the job is
 * committed at most once; the worker that holds the lease and succeeds wins; the published file is
 * the committed one, and is published once; no job is left behind.
 *
 * LOST: The database crashes and loses a claim, which is not synced, and a worker loses the answer
 * to a claim. One worker has two slots for jobs, so it can hold an old attempt of the job beside the
 * present one. It does not fail or crash, and there is no other.
 *
 * One atomic step is one transaction of the store, or one change of a folder.
 *
 * Sources:
 *   DurableJobs/Store
 *   DurableJobs/Worker
 *   DurableJobFiles
 */

mtype = { available, running, completed, discarded };

#define LIMIT 4                 /* attempts; then the job is discarded */
#ifdef LOST
#define CRASHES 0
#define FAILURES 0
#define LOST_CLAIMS 1
#else
#define CRASHES 1
#define FAILURES 2
#define LOST_CLAIMS 0
#endif
#define CLAIMS (LIMIT + LOST_CLAIMS)    /* the attempt of a lost claim comes again */

/* The row of the job */
mtype state = available;
byte  attempt, owner, claim;
byte  result;                   /* the claim whose result was committed */
bool  published;

/* The folder: one staged file for each claim, and the final name */
bool  staged[CLAIMS + 1];
byte  final;                    /* the claim that wrote the file with the final name */

/* What the workers know: the claim that each slot holds, and whether a transaction of the worker
 * had no answer, so that its next one names these claims. The slots 0 and 1 are the first worker's. */
byte  holds[3];
bool  mustName[3];

/* Counters that the assertions check, and limits that keep the search finite */
byte  commits, publications;
bool  isLost[CLAIMS + 1];       /* the rescuer or a crash of the database has ended this claim */
byte  claims, crashes, databaseCrashes, expiries, failures, lostAnswers;
byte  slots = 2;
bool  hasDied[3];

#define isOver (state == completed || state == discarded)
#define nextState (attempt < LIMIT -> available : discarded)

/* The condition of each statement by which a worker ends an attempt, and the one by which a
 * repeated commit recognises the first */
#ifdef BREAK_UNGUARDED          /* asks for nothing but the job's number */
#define isMine (true)
#else
#ifdef BREAK_RUNNING            /* asks whether the job is running, not whose attempt it is */
#define isMine (state == running)
#else
#ifdef BREAK_ATTEMPT            /* names the attempt by its number, which may come again */
#define hasToken (attempt == a && owner == me)
#else
#define hasToken (claim == c && owner == me)
#endif
#define isMine (state == running && hasToken)
#endif
#endif
#ifndef hasToken
#define hasToken (claim == c && owner == me)
#endif

#ifdef BREAK_KNOWN              /* names the jobs that it knows, not the claims */
#define isKnown(slot) (holds[slot] != 0)
#else
#define isKnown(slot) (holds[slot] == claim)
#endif
#define isKnownToMe ((me == 1 && (isKnown(0) || isKnown(1))) || (me == 2 && isKnown(2)))

/* Hands back the job if this worker has claimed it and does not know that: a part of the first
 * transaction after one without an answer. */
inline nameKnown() {
    if
    :: mustName[me] ->
        mustName[me] = false;
        if
        :: state == running && owner == me && !isKnownToMe -> state = nextState
        :: else
        fi
    :: else
    fi
}

/* Renames the staged file of an attempt. Only one thread can succeed. */
inline publish(c) {
    atomic {
        if
        :: staged[c] -> staged[c] = false; final = c; publications++
        :: else
        fi
    }
}

inline mayCrash() {
    if
    :: atomic { crashes < CRASHES -> crashes++; hasDied[me] = true }
    :: skip
    fi
}

/* What a worker does with one job at a time. */
proctype Slot(byte me; byte slot) {
    byte a, c;
    bool hasWon, hasFailed, hasLostLease;
    {
        do
        :: atomic {
                state == available && attempt < LIMIT ->
                nameKnown();
                state = running;
                attempt++;
                claims++;
                a = attempt;
                c = claims;
                claim = c;
                owner = me;
                holds[slot] = c;
                hasFailed = false;
                hasLostLease = false;
                if
                :: failures < FAILURES -> failures++; hasFailed = true
                :: skip
                fi
            };
            if
            :: atomic {         /* the answer was lost */
                    lostAnswers < LOST_CLAIMS ->
                    lostAnswers++;
                    holds[slot] = 0;
                    mustName[me] = true
                }
            :: hasFailed ->
                atomic {
                    holds[slot] = 0;
                    if
                    :: isMine -> state = nextState
                    :: else
                    fi;
                    nameKnown()
                }
            :: !hasFailed ->
#ifdef BREAK_DIRECT             /* writes to the final name before the commit */
                atomic { final = c; publications++ };
#else
                staged[c] = true;
#endif
                mayCrash();
again:          atomic {
                    hasWon = false;
                    holds[slot] = 0;
                    if
                    :: isMine -> state = completed; result = c; commits++; hasWon = true
#ifndef BREAK_NO_REPEAT         /* a repeated commit does not recognise the first one */
                    :: !isMine && state == completed && hasToken -> hasWon = true
#endif
                    :: else
                    fi;
                    nameKnown()
                };
                if
                :: atomic { holds[slot] = c; mustName[me] = true }; goto again
                                /* the answer was lost */
                :: hasLostLease = true      /* the answer was lost, and then the lease */
                :: skip
                fi;
                assert(hasLostLease || hasWon || isLost[c]);
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
                    staged[c] = false
#else
                    skip
#endif
                :: hasWon && !hasLostLease -> publish(c); published = true
                :: else -> staged[c] = false
                fi
#endif
            fi
        :: atomic { mustName[me] -> nameKnown() }
        :: isOver -> break
        od
    } unless { hasDied[me] };
    slots--
}

/* A crash of the database loses a claim that no later transaction has synced. */
proctype Database() {
    do
    :: atomic {
            state == running && databaseCrashes < LOST_CLAIMS ->
            databaseCrashes++;
            isLost[claim] = true;
            state = available;
            attempt--;
            owner = 0;
            claim = 0
        }
    :: isOver -> break
    :: slots == 0 -> break
    od
}

proctype Rescuer() {
    do
    :: atomic {
            state == running && (expiries < 2 || hasDied[owner]) ->
            isLost[claim] = true;
            if
            :: hasDied[owner]
            :: else -> expiries++
            fi;
            state = nextState
        }
    :: isOver -> break
    :: slots == 0 -> break
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
        run Slot(1, 0);
#ifdef LOST
        run Slot(1, 1);
        run Database();
#else
        run Slot(2, 2);
#endif
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
