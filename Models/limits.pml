/* Limits: the jobs of one key with two places, two workers that claim them, and the ends of their
 * attempts. See "The order of claims" in Protocol.md of DurableJobs.
 *
 * A claim reads which places are taken, and inserts the row of a free one. A row with the same place
 * that another claim has inserted keeps it waiting, and then refuses it. A claim without a place
 * locks the rows of all places, and parks the ready jobs; or finds that a place has become free, and
 * leaves it to the next look. In every order at most as many jobs run as there are places, and each job ends: none is parked for
 * ever.
 *
 * One atomic step is one statement of a transaction. What a transaction has written, others see
 * after its commit.
 *
 * Sources:
 *   DurableJobs/Store/ExclusiveKeys.swift
 */

mtype = { ready, parked, running, ended };

#define PLACES 2
#define JOBS 4
#define NOBODY 0

mtype state[JOBS] = ready;
byte rowLock[JOBS];                     /* which transaction has locked the row of the job */
byte placeOf[JOBS];
byte holder[PLACES];                    /* the committed rows: the job and one, or nobody */
byte writer[PLACES];                    /* which transaction has inserted a row, not committed */
byte lock[PLACES];                      /* which transaction has locked or deleted the row */
byte runs, ends;

#define isRunning(it) (state[it] == running && rowLock[it] == NOBODY)
#define isFree(it) (state[it] == ready && rowLock[it] == NOBODY)

inline commitClaim() {
    atomic {
        if
        :: has ->
            holder[place] = job + 1; writer[place] = NOBODY;
            state[job] = running; placeOf[job] = place;
            runs++;
            assert(runs <= PLACES)
        :: else
        fi;
        for (it : 0 .. JOBS - 1) {
            if
            :: parks[it] -> state[it] = parked; parks[it] = false; rowLock[it] = NOBODY
            :: else
            fi
        }
        for (it : 0 .. PLACES - 1) {
            if
            :: lock[it] == me -> lock[it] = NOBODY
            :: else
            fi
        }
        rowLock[job] = NOBODY
    }
}

/* Reads which places are taken: the first free one, or none. */
inline look() {
    atomic {
        place = 0;
        do
        :: place < PLACES && holder[place] != NOBODY -> place++
        :: else -> break
        od
    }
}

/* Inserts the row of the place. Waits for another transaction with the same place. */
inline insert() {
    if
    :: place < PLACES ->
#ifdef BREAK_COUNT              /* the rows of two claims may have the same place */
        has = true
#else
        atomic {
            writer[place] == NOBODY && (lock[place] == NOBODY || lock[place] == me) ->
            if
            :: holder[place] == NOBODY -> writer[place] = me; has = true
            :: else
            fi
        }
#endif
    :: else
    fi
}

proctype Claimer(byte me) {
    byte job, place, it;
    bool has, parks[JOBS];

    do
    :: atomic { ends == JOBS -> break }
    :: atomic {                         /* the first ready job that nobody has locked */
            (isFree(0) || isFree(1) || isFree(2) || isFree(3)) ->
            job = 0;
            do
            :: isFree(job) -> break
            :: else -> job++
            od;
            rowLock[job] = me
        };
        has = false;
        look();
        insert();
        if
        :: !has ->
#ifndef BREAK_LOCK              /* parks without locks: an end may look before the commit */
            it = 0;
            do
            :: it < PLACES ->
                atomic {
                    lock[it] == NOBODY ->
                    if
                    :: holder[it] != NOBODY -> lock[it] = me
                    :: else
                    fi
                };
                it++
            :: else -> break
            od;
#endif
            atomic {                    /* the first place whose row the statement has not found */
                place = 0;
                do
#ifdef BREAK_LOCK
                :: place < PLACES && holder[place] != NOBODY -> place++
#else
                :: place < PLACES && lock[place] == me -> place++
#endif
                :: else -> break
                od
            };
            if
            :: place < PLACES           /* the next look takes it */
            :: else ->
                atomic {
                    for (it : 0 .. JOBS - 1) {
                        if
                        :: state[it] == ready && (rowLock[it] == NOBODY || rowLock[it] == me) ->
                            rowLock[it] = me; parks[it] = true
                        :: else
                        fi
                    }
                }
            fi
        :: else
        fi;
        commitClaim()
    od
}

proctype Ender(byte me) {
    byte job, place, released;

    do
    :: atomic { ends == JOBS -> break }
    :: atomic {
            (isRunning(0) || isRunning(1) || isRunning(2) || isRunning(3)) ->
            job = 0;
            do
            :: isRunning(job) -> break
            :: else -> job++
            od;
            rowLock[job] = me;
            place = placeOf[job]
        };
#ifdef BREAK_LOOK_FIRST         /* looks for a parked job before it has deleted the row */
        released = 0;
        atomic {
            do
            :: released == JOBS -> break
            :: released < JOBS && state[released] == parked && rowLock[released] == NOBODY ->
                rowLock[released] = me;
                break
            :: else -> released++
            od
        };
        atomic { lock[place] == NOBODY -> lock[place] = me };
#else
        /* Deletes the row. Waits for a transaction that has locked it. */
        atomic { lock[place] == NOBODY -> lock[place] = me };
        atomic {
            released = 0;
            do
            :: released == JOBS -> break
            :: released < JOBS && state[released] == parked && rowLock[released] == NOBODY ->
                rowLock[released] = me;
                break
            :: else -> released++
            od
        };
#endif
        atomic {
            state[job] = ended; ends++; runs--;
            holder[place] = NOBODY; lock[place] = NOBODY;
            if
            :: released < JOBS -> state[released] = ready; rowLock[released] = NOBODY
            :: else
            fi;
            rowLock[job] = NOBODY
        }
    od
}

init {
    atomic { run Claimer(1); run Claimer(2); run Ender(3); run Ender(4) }
}
