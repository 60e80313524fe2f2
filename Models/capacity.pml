/* Capacity: tasks that wait until a queue has fewer operations than a limit. See Waits.md.
 *
 * Two workers run the operations of a queue. Operations 0 and 1 are in the queue at the beginning,
 * and one worker may claim both in one claim. Two tasks wait for capacity, and then add one
 * operation each. Operation 1 runs until both tasks have continued, so they must continue before
 * its end. Chosen by a macro:
 *   CANCEL   the first waiter waits for an empty queue, which cannot come before the end, and its
 *            task is cancelled; otherwise both waiters want fewer than two operations
 *   EMPTY    the queue has operation 4 at the beginning. Once it is empty, operations 0 and 1 are
 *            added
 *
 * One atomic step is one hold of the queue's lock, or one event of a lifecycle state or of a task.
 *
 * Sources:
 *   Operations/Scheduling/Claim.swift
 *   Operations/Scheduling/QueueRoom.swift
 *   Operations/Room/CapacityQueue.swift
 *   Operations/Room/Room+Capacity.swift
 *   Operations/Room/OperationQueue+Capacity.swift
 */

#define OPERATIONS 5
#define LONG       1            /* the operation that runs until both tasks have continued */
#define NONE       7
#ifdef CANCEL
#define limitOf(w) (w == 0 -> 1 : 2)
#else
#define limitOf(w) 2
#endif

mtype = { notAdded, ready, claimed, finished };         /* operations */
mtype = { coming, waiting, admitted, withdrawn };       /* waiters */

/* QueueState */
mtype stage[OPERATIONS];
byte  ringCount;
byte  rest[2];                  /* in the claim of each worker, and not begun */
byte  unretired[2];             /* finished operations that are still in the ring */
bool  isOwner[2];               /* the worker has a claim */
bool  isUsed;
byte  reservations;

/* CapacityQueue: the first waiter in line, and the second */
byte  line[2], lineCount;

/* The tasks */
mtype state[2];
bool  isTaskCancelled;          /* the first waiter's task */
bool  hasEnded[2];

#define operationCount  (ringCount - unretired[0] - unretired[1])

/* Whether no operation can end in a claim after the operations were counted. */
#ifdef BREAK_AGAIN              /* counts also if the use of capacity has ended since it began */
#define mayCount        true
#else
#define mayCount        (isUsed || !(isOwner[0] || isOwner[1]))
#endif

/* Ends the use of capacity, if nobody has anything to do with it. Part of an atomic step. */
inline endUse() {
    if
    :: ringCount == 0 && lineCount == 0 && reservations == 0 -> isUsed = false
    :: else
    fi
}

/* Admits the waiters for which there is capacity, in the order of the line. Part of an atomic
 * step. */
inline admit() {
    do
    :: lineCount > 0 && operationCount + reservations < limitOf(line[0]) ->
        reservations++;
        assert(state[line[0]] == waiting);
        state[line[0]] = admitted;      /* the task is resumed without the lock */
        line[0] = line[1];
        lineCount--
    :: else -> break
    od
}

/* Takes a waiter out of the line, if it is there. The waiters behind it may have higher limits. */
inline giveUp(w) {
    atomic {
        if
        :: lineCount > 0 && line[0] == w -> line[0] = line[1]; lineCount--; state[w] = withdrawn
        :: lineCount > 1 && line[1] == w -> lineCount--; state[w] = withdrawn
        :: else
        fi;
        endUse();
#ifndef BREAK_GIVE_UP           /* ignores the waiters behind this one */
        admit()
#endif
    }
}

/* From here on, each operation leaves the ring right after its end. */
inline beginUse() {
    atomic {
        isUsed = true;
#ifndef BREAK_RECLAIM           /* operations that are in a claim stay there */
        if
        :: rest[0] != NONE -> stage[rest[0]] = ready; rest[0] = NONE
        :: else
        fi;
        if
        :: rest[1] != NONE -> stage[rest[1]] = ready; rest[1] = NONE
        :: else
        fi
#endif
    }
}

proctype Waiter(byte me) {
    bool hasReservation, mustBegin;

again:
    if
    :: isUsed
    :: else -> beginUse()
    fi;
    atomic {
        mustBegin = !(mayCount);
        if
        :: !mustBegin && lineCount == 0 && operationCount + reservations < limitOf(me) ->
            isUsed = true; reservations++; hasReservation = true
        :: else
        fi
    }
    if
    :: mustBegin -> goto again
    :: else
    fi;
    if
    :: hasReservation
    :: else ->
#ifdef BREAK_LOOK_AGAIN         /* does not see capacity that came meanwhile */
        atomic { line[lineCount] = me; lineCount++; state[me] = waiting }
#else
        atomic {
            mustBegin = !(mayCount);
            if
            :: mustBegin
            :: else ->
                isUsed = true;
                if
                :: lineCount == 0 && operationCount + reservations < limitOf(me) ->
                    reservations++; hasReservation = true
                :: else -> line[lineCount] = me; lineCount++; state[me] = waiting
                fi
            fi
        }
        if
        :: mustBegin -> goto again
        :: else
        fi;
#endif
        if
        :: hasReservation
        :: else ->
#ifndef BREAK_CANCELLED_BEFORE  /* ignores a cancellation that came before the waiter was in line */
            if
            :: me == 0 && isTaskCancelled -> giveUp(me)
            :: else
            fi;
#endif
            state[me] != waiting;
            hasReservation = (state[me] == admitted)
        fi
    fi;
    if
    :: hasReservation ->
#ifdef BREAK_RESERVATION        /* returns the reservation before it adds the operation */
        atomic { reservations--; endUse(); admit() }
#endif
        atomic {
            stage[2 + me] = ready;
            ringCount++;
#ifndef EMPTY                   /* the other operations of EMPTY are added without asking */
            assert(operationCount <= 2)
#endif
        }
#ifndef BREAK_RESERVATION
        atomic { reservations--; endUse(); admit() }
#endif
    :: else
    fi;
    hasEnded[me] = true
}

#ifdef CANCEL
active proctype Canceller() {
    isTaskCancelled = true;
    giveUp(0)
}
#endif

#define isAnyReady \
    (stage[0] == ready || stage[1] == ready || stage[2] == ready || stage[3] == ready || \
     stage[4] == ready)

proctype Worker(byte me) {
    byte o = NONE;

end_idle:
    do
    :: atomic {
            isAnyReady ->
            if
            :: stage[0] == ready -> o = 0
            :: stage[1] == ready -> o = 1
            :: stage[2] == ready -> o = 2
            :: stage[3] == ready -> o = 3
            :: stage[4] == ready -> o = 4
            fi;
            stage[o] = claimed;
            isOwner[me] = true;
            if                  /* while capacity is in use, each claim has one operation */
            :: !isUsed && o == 0 && stage[1] == ready -> stage[1] = claimed; rest[me] = 1
            :: else
            fi
        }
        do
        :: o != NONE ->
            if
            :: o == LONG -> (hasEnded[0] && hasEnded[1])
            :: else
            fi;
            atomic { stage[o] = finished; unretired[me]++; o = NONE }
            atomic { o = rest[me]; rest[me] = NONE }
        :: else -> break
        od;
        /* The finished operations leave the ring. */
        atomic {
            ringCount = ringCount - unretired[me];
            unretired[me] = 0;
            isOwner[me] = false;
#ifndef BREAK_RETIRE            /* ignores the line when a claim is retired */
            admit();
#endif
#ifndef BREAK_STAYS             /* the use of capacity never ends */
            endUse()
#endif
        }
    od
}

#ifdef EMPTY
active proctype Adder() {
    stage[4] == finished && ringCount == 0;
    atomic { stage[0] = ready; stage[1] = ready; ringCount = ringCount + 2 }
}
#endif

init {
    atomic {
        stage[0] = notAdded;
        stage[1] = notAdded;
        stage[2] = notAdded;
        stage[3] = notAdded;
        stage[4] = notAdded;
#ifdef EMPTY
        stage[4] = ready;
        ringCount = 1;
#else
        stage[0] = ready;
        stage[1] = ready;
        ringCount = 2;
#endif
        rest[0] = NONE;
        rest[1] = NONE;
        state[0] = coming;
        state[1] = coming;
        run Worker(0);
        run Worker(1);
        run Waiter(0);
        run Waiter(1)
    }
    /* Both waiters continue, and all reservations are returned. If not, this process waits here for
     * ever, which is an invalid end state. */
    hasEnded[0] && hasEnded[1] && ringCount == 0;
    assert(reservations == 0 && lineCount == 0 && !isUsed);
#ifndef CANCEL
    assert(stage[2] == finished && stage[3] == finished)
#endif
}
