/* Room: who waits until a queue has fewer operations.
 * Waits.md. OperationQueue+Room.swift, QueueState+Room.swift, CapacityQueue.swift, and where
 * operations leave: QueueState.swift (fold, cut).
 *
 * Two workers run what is in a queue; operations 0 and 1 are there at the beginning, and one of the workers
 * may have both in a batch. Two tasks wait for room and then add one operation each. Operation 1 goes on
 * until both have got on: so they must get on without its end. Chosen by a macro:
 *   CANCEL   the first of them wants an empty queue, which there is not before the end, and is cancelled;
 *            otherwise both want fewer than two
 *
 * One atomic step is one hold of the queue's lock, or one event of a word or of a task.
 */

#define OPERATIONS 4
#define LONG       1            /* the operation that goes on */
#define NONE       7
#ifdef CANCEL
#define limitOf(w) (w == 0 -> 1 : 2)
#else
#define limitOf(w) 2
#endif

mtype = { away, ready, inHand, done };          /* operations */
mtype = { coming, standing, admitted, gaveUp }; /* waiters */

/* QueueState */
mtype stage[OPERATIONS];
byte  ringCount;
byte  rest[2];                  /* of each worker's batch: what it has not taken */
byte  unfolded[2];              /* finished, and still in the ring */
bool  isUsed;
byte  places;

/* CapacityQueue: who stands first, and behind */
byte  line[2], lineCount;

/* The tasks */
mtype state[2];
bool  isTaskCancelled;          /* that of the first */
bool  isOver[2];

#define operationCount  (ringCount - unfolded[0] - unfolded[1])

/* Gives places to those for whom there is room now, in their order; inside an atomic step. */
inline admit() {
    do
    :: lineCount > 0 && operationCount + places < limitOf(line[0]) ->
        places++;
        assert(state[line[0]] == standing);
        state[line[0]] = admitted;      /* it is resumed without the lock */
        line[0] = line[1];
        lineCount--
    :: else -> break
    od
}

/* Takes a waiter out of the line, if it stands there; others may be content with less. */
inline giveUp(w) {
    atomic {
        if
        :: lineCount > 0 && line[0] == w -> line[0] = line[1]; lineCount--; state[w] = gaveUp
        :: lineCount > 1 && line[1] == w -> lineCount--; state[w] = gaveUp
        :: else
        fi;
#ifndef BREAK_GIVE_UP           /* nobody looks at those behind him */
        admit()
#endif
    }
}

proctype Waiter(byte me) {
    bool hasPlace;

    /* The first who comes lets each operation leave right after its end. */
    if
    :: isUsed
    :: else ->
        atomic {
            isUsed = true;
#ifndef BREAK_CUT               /* those that lie in batches stay there */
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
    fi;
    atomic {
        if
        :: lineCount == 0 && operationCount + places < limitOf(me) -> places++; hasPlace = true
        :: else
        fi
    }
    if
    :: hasPlace
    :: else ->
#ifdef BREAK_LOOK_AGAIN         /* room that came meanwhile is not seen */
        atomic { line[lineCount] = me; lineCount++; state[me] = standing }
#else
        atomic {
            if
            :: lineCount == 0 && operationCount + places < limitOf(me) -> places++; hasPlace = true
            :: else -> line[lineCount] = me; lineCount++; state[me] = standing
            fi
        }
#endif
        if
        :: hasPlace
        :: else ->
#ifndef BREAK_CANCELLED_BEFORE  /* a cancellation that came before it stood in the line is forgotten */
            if
            :: me == 0 && isTaskCancelled -> giveUp(me)
            :: else
            fi;
#endif
            state[me] != standing;
            hasPlace = (state[me] == admitted)
        fi
    fi;
    if
    :: hasPlace ->
#ifdef BREAK_PLACE              /* the place is given back before there is an operation in it */
        atomic { places--; admit() }
#endif
        atomic {
            stage[2 + me] = ready;
            ringCount++;
            assert(operationCount <= 2)
        }
#ifndef BREAK_PLACE
        atomic { places--; admit() }
#endif
    :: else
    fi;
    isOver[me] = true
}

#ifdef CANCEL
active proctype Canceller() {
    isTaskCancelled = true;
    giveUp(0)
}
#endif

#define isAnyReady  (stage[0] == ready || stage[1] == ready || stage[2] == ready || stage[3] == ready)

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
            fi;
            stage[o] = inHand;
            if                  /* batches have one operation each once anybody has waited for room */
            :: !isUsed && o == 0 && stage[1] == ready -> stage[1] = inHand; rest[me] = 1
            :: else
            fi
        }
        do
        :: o != NONE ->
            if
            :: o == LONG -> (isOver[0] && isOver[1])
            :: else
            fi;
            atomic { stage[o] = done; unfolded[me]++; o = NONE }
            atomic { o = rest[me]; rest[me] = NONE }
        :: else -> break
        od;
        /* What it has run leaves. */
        atomic {
            ringCount = ringCount - unfolded[me];
            unfolded[me] = 0;
#ifndef BREAK_FOLD              /* nobody looks at the line when a batch leaves */
            admit()
#endif
        }
    od
}

init {
    atomic {
        stage[0] = ready;
        stage[1] = ready;
        stage[2] = away;
        stage[3] = away;
        ringCount = 2;
        rest[0] = NONE;
        rest[1] = NONE;
        state[0] = coming;
        state[1] = coming;
        run Worker(0);
        run Worker(1);
        run Waiter(0);
        run Waiter(1)
    }
    /* Both get on, and all places come back. Who waits here for ever is an invalid end. */
    isOver[0] && isOver[1] && ringCount == 0;
    assert(places == 0 && lineCount == 0);
#ifndef CANCEL
    assert(stage[2] == done && stage[3] == done)
#endif
}
