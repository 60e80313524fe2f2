/* Timers: how the pool calls an action at a moment. See Timers.md.
 *
 * Two threads add one action each, at any time and for any moment. The first thread may cancel its
 * action. The monitor thread sleeps until the moment that it has set, or until it is woken. The
 * clock advances at any time, and ends after all moments. So an action that is not called is not
 * merely late: its thread waits for ever, and the search ends in an invalid end state.
 *
 * One atomic block is one hold of the lock of the list or of the timer.
 *
 * Sources:
 *   OperationsRuntime/Workers/PoolTimer.swift
 *   OperationsRuntime/Collections/Heap.swift
 *   OperationsRuntime/Workers/TimerList.swift
 *   OperationsRuntime/Workers/WorkerWatch.swift
 */

#define ACTIONS 2
#define NEVER   9
#define LAST    3       /* the last time of the clock */

byte now = 1;
byte nextVisit = NEVER; /* when the monitor thread comes by itself, or was called to come */
bool posted;            /* the semaphore of the monitor thread */

byte moment[ACTIONS];   /* NEVER: not on the list */
bool hasAction[ACTIONS]; /* the timer holds its action */
byte calls[ACTIONS];
bool isOver[ACTIONS];   /* called, or cancelled */
chan submitted = [ACTIONS] of { byte };

#define first (moment[0] < moment[1] -> moment[0] : moment[1])

proctype Adder(byte me) {
    byte at;
    bool mustPost, hasTaken;
    if
    :: at = 1
    :: at = 2
    :: at = 3
    fi;
    atomic {
        hasAction[me] = true;
        moment[me] = at;
        mustPost = at < nextVisit;
        if
        :: mustPost -> nextVisit = at
        :: else
        fi
    }
#ifndef BREAK_POST      /* does not wake a monitor thread that would come too late */
    if
    :: mustPost -> posted = true
    :: else
    fi;
#endif
    if
    :: me == 0 ->
        atomic { hasTaken = hasAction[me]; hasAction[me] = false }
#ifdef BREAK_CANCEL     /* a cancellation ignores that a worker has the action */
        hasTaken = true;
#endif
        if
        :: hasTaken -> atomic { moment[me] = NEVER; isOver[me] = true }
        :: else
        fi
    :: true
    fi;
    /* The action is called or cancelled. */
    isOver[me];
    assert(calls[me] + hasTaken == 1)
}

active proctype Monitor() {
    byte earliest;
    byte until = NEVER; /* the end of the sleep, which does not see later writes */
end_monitor:
    do
    :: atomic { (posted || now >= until) -> posted = false }
        /* Take the due timers. */
        do
        :: atomic { moment[0] <= now -> moment[0] = NEVER; submitted!0 }
        :: atomic { moment[1] <= now -> moment[1] = NEVER; submitted!1 }
        :: else -> break
        od;
        /* Set the next visit. */
#ifdef BREAK_TWO_HOLDS  /* an action that is added in between sees the old visit */
        atomic { earliest = first }
        atomic { nextVisit = earliest; until = earliest; earliest = 0 }
#else
        atomic { nextVisit = first; until = nextVisit }
#endif
    od
}

active proctype Worker() {
    byte action;
    bool hasTaken;
end_worker:
    do
    :: submitted?action ->
        atomic { hasTaken = hasAction[action]; hasAction[action] = false }
        if
        :: hasTaken -> calls[action]++; isOver[action] = true
        :: else
        fi;
        hasTaken = false
    od
}

active proctype Clock() {
    do
    :: now < LAST -> now++
    :: now == LAST -> break
    od
}

init {
    atomic {
        moment[0] = NEVER;
        moment[1] = NEVER;
        run Adder(0);
        run Adder(1)
    }
}
