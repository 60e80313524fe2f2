/* A schedule: its row, the workers that fire it, two programs of a rolling deploy that write it,
 * and an operator who pauses it. See "Schedules" in Protocol.md of DurableJobs.
 *
 * Times are numbers; time t is one of the schedule, for every t. The clock advances by one or two,
 * so that times are missed, and is set back once by one. All missed times are fired. A worker may
 * die at any time, and its transaction is then rolled back. In every order each time is fired once
 * at most, and in the end all times that have come are fired, unless the schedule was paused. A
 * paused schedule fires nothing, and the row of a higher revision stays.
 *
 * One atomic step is one statement, or one transaction of the store. A transaction that locks the
 * row and writes it has a step for each.
 *
 * Sources:
 *   DurableJobs/Store/JobStore+Schedules.swift
 *   DurableJobs/Worker/JobUpkeep.swift
 */

#define END     5                       /* keep the search finite */
#define NOBODY  0

/* The row */
byte  next = 1;
byte  revision;
bool  paused;
byte  locker = NOBODY;

byte  clock;
byte  fired[END + 3];                   /* the committed jobs of each time */
bool  isOver, hasReturned, wasPaused, isNewWritten;
byte  writers = 2;

#define isDue (!paused && next <= clock)

/* The background step of a worker */
active [2] proctype Worker() {
    byte me = _pid + 1;
    byte first, last, t;
end:
    do
    :: atomic {                         /* locks the row, or leaves it */
#ifdef BREAK_LOCK                       /* reads the row without a lock */
            isDue ->
#else
            isDue && locker == NOBODY ->
            locker = me;
#endif
            first = next; last = clock
        }
#ifdef BREAK_PARTS                      /* stores the jobs, and writes the row later */
        atomic {
            t = first;
            do
            :: t <= last -> fired[t]++; assert(fired[t] <= 1); t++
            :: else -> break
            od;
            locker = NOBODY
        }
        next = last + 1
#else
        if
        :: skip
        :: atomic {                     /* dies: the transaction is rolled back */
                if
                :: locker == me -> locker = NOBODY
                :: else
                fi;
                goto end                /* another worker takes its place */
            }
        fi;
        atomic {                        /* commits the jobs and the row */
#ifdef BREAK_PAUSE                      /* the operator has not waited for the lock */
            assert(!hasReturned);
#else
            assert(!paused);
#endif
            t = first;
            do
            :: t <= last -> fired[t]++; assert(fired[t] <= 1); t++
            :: else -> break
            od;
#ifdef BREAK_NEXT                       /* computes the next time from the present clock */
            next = clock + 1;
#else
            next = last + 1;
#endif
            if
            :: locker == me -> locker = NOBODY
            :: else
            fi
        }
#endif
    od
}

/* A program of a revision, which starts */
proctype Program(byte mine) {
#ifdef BREAK_REVISION                   /* reads the revision, and writes the row later */
    byte found;
    found = revision;
    if
    :: found < mine ->
        atomic { locker == NOBODY -> revision = mine }
    :: else
    fi;
#else
    atomic {
        locker == NOBODY ->
        if
        :: revision < mine -> revision = mine       /* the times are the same: next stays */
        :: else
        fi
    }
#endif
    if
    :: mine == 2 -> isNewWritten = true
    :: else
    fi;
    writers--
}

active proctype Clock() {
    bool isTurned;
    do
    :: clock < END -> clock++
    :: clock < END - 1 -> clock = clock + 2
    :: clock > 1 && clock < END && !isTurned -> clock--; isTurned = true
    :: clock == END -> break
    od;
    isOver = true
}

active proctype Operator() {
    if
    :: skip
    :: wasPaused = true;
        atomic {
#ifndef BREAK_PAUSE
            locker == NOBODY ->
#endif
            paused = true
        }
        hasReturned = true
    fi
}

init {
    byte t;
    atomic { run Program(1); run Program(2) }
    isOver && writers == 0 && locker == NOBODY && (next > END || paused);
    assert(!isNewWritten || revision == 2);
    atomic {
        t = 1;
        do
        :: t <= END ->
            assert(fired[t] <= 1);
            assert(wasPaused || fired[t] == 1);
            t++
        :: else -> break
        od
    }
}
