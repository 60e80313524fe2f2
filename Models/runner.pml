/* Async bodies: one task runs the operations of a batch, one after the other, until a body
 * suspends. See RunningAsyncBodies.md.
 *
 * A worker has three operations in a batch, of a queue of width one. Each body suspends or does
 * not. A second worker runs the operations that are returned to the ready queue. The monitor thread
 * may reclaim the rest of the batch. A suspended task is resumed on another thread, at once or
 * later. Chosen by macros:
 *   WIDE     the queue has width two: an operation that suspends may take the other width slot, and
 *            leave the rest in the batch
 *   CANCEL   operation 0 is cancelled at any time
 *
 * One atomic step is one hold of the lock of the queue or of an AsyncBody, or one exchange of a
 * lifecycle state or of the cursor.
 *
 * Sources:
 *   Operations/Async
 *   Operations/Scheduling/Claim.swift
 *   Operations/Scheduling/BatchRunner.swift
 */

#define OPERATIONS 3
#define RUNNERS    3
#define NONE       7
#ifdef WIDE
#define WIDTH      2
#else
#define WIDTH      1
#endif

mtype = { queued, executing, finished };

/* The lifecycle states */
mtype phase[OPERATIONS];
bool  claimedAlone[OPERATIONS], holdsSlot[OPERATIONS], cancelled[OPERATIONS];

/* The queue */
bool  inRing[OPERATIONS], inReadyQueue[OPERATIONS];
byte  running;
#define executingCount ((phase[0] == executing) + (phase[1] == executing) + (phase[2] == executing))

/* The batch. Its entries are the operations, in order. */
byte  next, end;
bool  hasSlot, isRegistered;    /* isRegistered: until the batch is retired */
bool  isDetached[OPERATIONS];   /* was detached from the batch */

/* The runners. Each is one task. */
byte  runners;                  /* how many runners were made */
bool  hasParted[RUNNERS];
byte  suspended[RUNNERS];       /* the operation whose body is suspended */
/* The AsyncBody of each runner */
byte  operationOf[RUNNERS], cancellers[RUNNERS];
bool  isMarkedCancelled[RUNNERS], isTaskCancelled[RUNNERS], hasEnded[RUNNERS];

/* TaskRun: the runner that runs the operation */
byte  runIn[OPERATIONS];

/* Counters that the assertions check */
byte  bodies[OPERATIONS], ends[OPERATIONS];

/* Cancels the task of a runner, if the task runs this operation. */
inline cancelBody(r, o) {
    atomic {
        if
        :: operationOf[r] == o -> isMarkedCancelled[r] = true; cancellers[r]++; cancels = true
        :: else
        fi
    }
    if
    :: cancels ->
        cancels = false;
        assert(!hasEnded[r]);   /* the task must exist */
        isTaskCancelled[r] = true;
        cancellers[r]--
    :: else
    fi
}

/* Ends the task of a runner. */
inline endBody(r) {
    operationOf[r] = NONE;
#ifndef BREAK_CANCELLERS        /* the task ends while a thread cancels it */
    cancellers[r] == 0;
#endif
    hasEnded[r] = true
}

inline finish(o) {
    atomic {
        assert(phase[o] == executing);
        phase[o] = finished;
        ends[o]++;
        assert(ends[o] == 1)
    }
}

/* Begins the body. */
inline beginBody(r, o) {
    runIn[o] = r;
    if
    :: cancelled[o] -> cancelBody(r, o)
    :: else
    fi;
    atomic {
        bodies[o]++;
        assert(bodies[o] == 1);
        assert(!isTaskCancelled[r] || cancelled[o])
    }
}

/* The owner takes the next operation of the batch. */
inline takeNext() {
    atomic {
        if
        :: next < end -> o = next; next++
        :: else -> o = NONE
        fi
    }
}

active proctype Worker() {
    byte o, r;
    byte i;
    bool cancels, continues, suspends;

    isRegistered;
    takeNext();
    do
    :: o != NONE ->
        /* A new runner, for this operation and the ones that follow. */
        atomic {
            phase[o] = executing;
            assert(hasSlot && executingCount <= WIDTH);
            r = runners;
            runners++;
            operationOf[r] = o
        }
        do
        :: true ->
            beginBody(r, o);
            if
            :: true ->          /* it suspends: running the job returns to the worker */
                suspended[r] = o;
                suspends = true;
                break
            :: true             /* it returns */
            fi;
            runIn[o] = NONE;
            atomic { assert(!claimedAlone[o] && isRegistered) }
            finish(o);
            takeNext();
            if
            :: o == NONE -> break
            :: else
            fi;
#ifdef BREAK_MARK               /* checks the mark some time before the next operation begins */
            continues = !isMarkedCancelled[r];
            if
            :: continues -> phase[o] = executing; operationOf[r] = o
            :: else -> break
            fi
#else
            atomic {
                continues = !isMarkedCancelled[r];
                if
                :: continues -> operationOf[r] = o
                :: else
                fi
            }
            atomic {
                if
                :: continues -> phase[o] = executing; assert(hasSlot && executingCount <= WIDTH)
                :: else -> break
                fi
            }
#endif
        od;
        if
        :: suspends ->
            suspends = false;
#ifdef BREAK_FLAG_FIRST         /* the task may continue before its operation is detached */
            hasParted[r] = true;
#endif
            atomic {
                o = next - 1;
                if
#ifdef BREAK_OWN_SLOT           /* takes a width slot even if none is free */
                :: next < end ->
#else
                :: next < end && running < WIDTH ->
#endif
                    running++;
                    holdsSlot[o] = true
                :: else ->
                    for (i : 0 .. OPERATIONS - 1) {
                        if
                        :: next <= i && i < end -> inReadyQueue[i] = true
                        :: else
                        fi
                    }
                    i = 0;
                    end = next;
#ifdef BREAK_SLOT               /* the batch keeps its width slot, and returns it later */
                    holdsSlot[o] = false
#else
                    holdsSlot[o] = hasSlot;
                    hasSlot = false
#endif
                fi;
                claimedAlone[o] = true;
                isDetached[o] = true
            }
            hasParted[r] = true;
            /* The worker continues with the rest. */
            takeNext()
        :: else -> endBody(r)
        fi
    :: else -> break
    od;
    /* Retire the batch. */
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            if
#ifdef BREAK_RETIRE_DETACHED    /* retires operations that were detached */
            :: i < next ->
#else
            :: i < next && !isDetached[i] ->
#endif
                assert(phase[i] == finished && inRing[i]);
                inRing[i] = false
            :: else
            fi
        }
        i = 0;
        isRegistered = false;
        if
        :: hasSlot -> running--; hasSlot = false
        :: else
        fi
    }
}

/* A thread on which a suspended task continues. */
proctype Resumer(byte r) {
    byte o;

end_idle:
    suspended[r] != NONE;
    o = suspended[r];
    runIn[o] = NONE;
#ifndef BREAK_PARTING           /* does not wait until the worker has parted from the task */
    hasParted[r];
#endif
    finish(o);
    atomic {
        assert(claimedAlone[o]);
        inRing[o] = false;
        if
        :: holdsSlot[o] -> running--
        :: else
        fi
    }
    endBody(r)
}

/* Runs the operations that were returned to the ready queue. */
active proctype Other() {
    byte o;

end_idle:
    do
    :: atomic {
            running < WIDTH && (inReadyQueue[0] || inReadyQueue[1] || inReadyQueue[2]) ->
            if
            :: inReadyQueue[0] -> o = 0
            :: inReadyQueue[1] -> o = 1
            :: inReadyQueue[2] -> o = 2
            fi;
            inReadyQueue[o] = false;
            assert(phase[o] == queued);
            running++;
            phase[o] = executing;
            assert(executingCount <= WIDTH)
        }
        atomic { bodies[o]++; assert(bodies[o] == 1) }
        finish(o);
        atomic { inRing[o] = false; running--; o = 0 }
    od
}

active proctype Monitor() {
    byte i;
    if
    :: atomic {
            isRegistered ->
            for (i : 0 .. OPERATIONS - 1) {
                if
                :: next <= i && i < end -> inReadyQueue[i] = true
                :: else
                fi
            }
            i = 0;
            if
            :: next < end -> end = next
            :: else
            fi
        }
    :: true
    fi
}

#ifdef CANCEL
active proctype Canceller() {
    byte r;
    bool cancels;
    atomic {
        if
        :: phase[0] != finished -> cancelled[0] = true
        :: else
        fi
    }
    r = runIn[0];
    if
    :: r != NONE -> cancelBody(r, 0)
    :: else
    fi
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            phase[i] = queued;
            inRing[i] = true;
            runIn[i] = NONE;
            suspended[i] = NONE;
            operationOf[i] = NONE;
            run Resumer(i)
        }
        i = 0;
        end = OPERATIONS;
        isRegistered = true;
        hasSlot = true;
        running = 1
    }
    /* Each body has run once, each operation has left, and all width slots are returned. */
    !inRing[0] && !inRing[1] && !inRing[2] && !isRegistered && running == 0;
    assert(bodies[0] == 1 && bodies[1] == 1 && bodies[2] == 1)
}
