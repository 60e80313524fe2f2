/* Async bodies: a task that runs several of a batch, one after the other, until one suspends.
 * RunningAsyncBodies.md. AsyncRunner.swift (run, goOn), TaskRun.swift (AsyncBody, begin(in:), cancel)
 * and QueueState.part, as they are with one `hasParted` of each runner and `endPlain` for those in the batch.
 *
 * A worker has three operations in a batch, of a queue of width one; their bodies suspend or not. What is
 * given back is run by a second worker. The monitor may cut the batch. Who resumes a task is some other
 * thread, at once or later. Chosen by macros:
 *   WIDE     the queue has a width of two: an operation that is suspended may take the other slot, and leave the
 *            rest in the batch
 *   CANCEL   operation 0 is cancelled at any time
 *
 * One atomic step is one hold of the queue's lock or of an AsyncBody's, or one exchange of a word or cursor.
 */

#define OPERATIONS 3
#define RUNNERS    3
#define NONE       7
#ifdef WIDE
#define WIDTH      2
#else
#define WIDTH      1
#endif

mtype = { filed, executing, finished };

/* The words */
mtype phase[OPERATIONS];
bool  alone[OPERATIONS], holdsSlot[OPERATIONS], cancelled[OPERATIONS];

/* The queue */
bool  inRing[OPERATIONS], inList[OPERATIONS];
byte  running;
#define atWork ((phase[0] == executing) + (phase[1] == executing) + (phase[2] == executing))

/* The batch: its entries are the operations, by number */
byte  next, end;
bool  hasSlot, isBatch;         /* it is there until it is folded */
bool  isOut[OPERATIONS];        /* went out of it */

/* The runners, by number: each is one task */
byte  runners;                  /* how many there have been */
bool  hasParted[RUNNERS];
byte  suspended[RUNNERS];       /* the operation in whose body it waits */
/* Of each its AsyncBody */
byte  operationOf[RUNNERS], cancellers[RUNNERS];
bool  isSpoilt[RUNNERS], isTaskCancelled[RUNNERS], hasEnded[RUNNERS];

/* TaskRun: in which runner an operation is */
byte  runIn[OPERATIONS];

/* What is counted to be checked */
byte  bodies[OPERATIONS], ends[OPERATIONS];

/* Somebody cancels the task of a runner, if it runs this operation. */
inline cancelBody(r, o) {
    atomic {
        if
        :: operationOf[r] == o -> isSpoilt[r] = true; cancellers[r]++; cancels = true
        :: else
        fi
    }
    if
    :: cancels ->
        cancels = false;
        assert(!hasEnded[r]);   /* the task must be there */
        isTaskCancelled[r] = true;
        cancellers[r]--
    :: else
    fi
}

/* The task of a runner comes to its end. */
inline endBody(r) {
    operationOf[r] = NONE;
#ifndef BREAK_CANCELLERS        /* it ends though somebody is cancelling it */
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

/* The body begins. */
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

/* The owner takes the next of the batch. */
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
    bool cancels, goesOn, parts;

    isBatch;
    takeNext();
    do
    :: o != NONE ->
        /* A new runner, for this operation and those that come after it. */
        atomic {
            phase[o] = executing;
            assert(hasSlot && atWork <= WIDTH);
            r = runners;
            runners++;
            operationOf[r] = o
        }
        do
        :: true ->
            beginBody(r, o);
            if
            :: true ->          /* it suspends: the call that made the task returns */
                suspended[r] = o;
                parts = true;
                break
            :: true             /* it returns */
            fi;
            runIn[o] = NONE;
            atomic { assert(!alone[o] && isBatch) }
            finish(o);
            takeNext();
            if
            :: o == NONE -> break
            :: else
            fi;
#ifdef BREAK_SPOILT             /* whether it is spoilt is looked at some time before it goes on */
            goesOn = !isSpoilt[r];
            if
            :: goesOn -> phase[o] = executing; operationOf[r] = o
            :: else -> break
            fi
#else
            atomic {
                goesOn = !isSpoilt[r];
                if
                :: goesOn -> operationOf[r] = o
                :: else
                fi
            }
            atomic {
                if
                :: goesOn -> phase[o] = executing; assert(hasSlot && atWork <= WIDTH)
                :: else -> break
                fi
            }
#endif
        od;
        if
        :: parts ->
            parts = false;
#ifdef BREAK_FLAG_FIRST         /* the task may go on before the operation is out of the batch */
            hasParted[r] = true;
#endif
            atomic {
                o = next - 1;
                if
#ifdef BREAK_OWN_SLOT           /* it takes a slot, also if there is none */
                :: next < end ->
#else
                :: next < end && running < WIDTH ->
#endif
                    running++;
                    holdsSlot[o] = true
                :: else ->
                    for (i : 0 .. OPERATIONS - 1) {
                        if
                        :: next <= i && i < end -> inList[i] = true
                        :: else
                        fi
                    }
                    i = 0;
                    end = next;
#ifdef BREAK_SLOT               /* the batch keeps its slot, and gives it back */
                    holdsSlot[o] = false
#else
                    holdsSlot[o] = hasSlot;
                    hasSlot = false
#endif
                fi;
                alone[o] = true;
                isOut[o] = true
            }
            hasParted[r] = true;
            /* The worker goes on with the rest. */
            takeNext()
        :: else -> endBody(r)
        fi
    :: else -> break
    od;
    /* What it has run leaves with the batch. */
    atomic {
        for (i : 0 .. OPERATIONS - 1) {
            if
#ifdef BREAK_FOLD_PARTED        /* those that went out of the batch leave with it */
            :: i < next ->
#else
            :: i < next && !isOut[i] ->
#endif
                assert(phase[i] == finished && inRing[i]);
                inRing[i] = false
            :: else
            fi
        }
        i = 0;
        isBatch = false;
        if
        :: hasSlot -> running--; hasSlot = false
        :: else
        fi
    }
}

/* A thread on which a suspended task goes on. */
proctype Resumer(byte r) {
    byte o;

end_idle:
    suspended[r] != NONE;
    o = suspended[r];
    runIn[o] = NONE;
#ifndef BREAK_PARTING           /* it does not wait until the worker has parted from it */
    hasParted[r];
#endif
    finish(o);
    atomic {
        assert(alone[o]);
        inRing[o] = false;
        if
        :: holdsSlot[o] -> running--
        :: else
        fi
    }
    endBody(r)
}

/* Runs what is given back. */
active proctype Other() {
    byte o;

end_idle:
    do
    :: atomic {
            running < WIDTH && (inList[0] || inList[1] || inList[2]) ->
            if
            :: inList[0] -> o = 0
            :: inList[1] -> o = 1
            :: inList[2] -> o = 2
            fi;
            inList[o] = false;
            assert(phase[o] == filed);
            running++;
            phase[o] = executing;
            assert(atWork <= WIDTH)
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
            isBatch ->
            for (i : 0 .. OPERATIONS - 1) {
                if
                :: next <= i && i < end -> inList[i] = true
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
            phase[i] = filed;
            inRing[i] = true;
            runIn[i] = NONE;
            suspended[i] = NONE;
            operationOf[i] = NONE;
            run Resumer(i)
        }
        i = 0;
        end = OPERATIONS;
        isBatch = true;
        hasSlot = true;
        running = 1
    }
    /* Each body has run once and each operation has left; all slots are back. */
    !inRing[0] && !inRing[1] && !inRing[2] && !isBatch && running == 0;
    assert(bodies[0] == 1 && bodies[1] == 1 && bodies[2] == 1)
}
