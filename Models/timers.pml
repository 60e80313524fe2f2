/* Timers: how what is due at a moment is called. Timers.md.
 *
 * Two threads add an action each, at any moments and at any time; the first may cancel its own again. The monitor
 * sleeps up to the moment that he has set, or until he is woken. The clock goes on whenever it likes, and ends behind
 * all moments. So an action that nobody comes for is not merely late: it is waited for for ever, and the search ends
 * in an invalid end state.
 *
 * One atomic block is one hold of the list's lock, or of the timer's.
 */

#define ACTIONS 2
#define NEVER   9
#define LAST    3       /* the clock stops there */

byte now = 1;
byte nextVisit = NEVER; /* when the monitor comes by himself, or was called for */
bool posted;            /* the monitor's semaphore */

byte moment[ACTIONS];   /* NEVER: not on the list */
bool isThere[ACTIONS];  /* the timer has its action */
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
        isThere[me] = true;
        moment[me] = at;
        mustPost = at < nextVisit;
        if
        :: mustPost -> nextVisit = at
        :: else
        fi
    }
#ifndef BREAK_POST      /* nobody tells the monitor that he would come too late */
    if
    :: mustPost -> posted = true
    :: else
    fi;
#endif
    if
    :: me == 0 ->
        atomic { hasTaken = isThere[me]; isThere[me] = false }
#ifdef BREAK_CANCEL     /* whoever cancels does not look whether a worker has the action */
        hasTaken = true;
#endif
        if
        :: hasTaken -> atomic { moment[me] = NEVER; isOver[me] = true }
        :: else
        fi
    :: true
    fi;
    /* Whoever is waited for comes. */
    isOver[me];
    assert(calls[me] + hasTaken == 1)
}

active proctype Monitor() {
    byte earliest;
    byte until = NEVER; /* how long he sleeps: he does not see what others write meanwhile */
end_monitor:
    do
    :: atomic { (posted || now >= until) -> posted = false }
        /* What is due. */
        do
        :: atomic { moment[0] <= now -> moment[0] = NEVER; submitted!0 }
        :: atomic { moment[1] <= now -> moment[1] = NEVER; submitted!1 }
        :: else -> break
        od;
        /* When to come again. */
#ifdef BREAK_TWO_HOLDS  /* what is added in between sees the old moment */
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
        atomic { hasTaken = isThere[action]; isThere[action] = false }
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
