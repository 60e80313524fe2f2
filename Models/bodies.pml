/* One task runs the bodies of several operations, one after the other, and threads cancel two of
 * them at any time. See RunningAsyncBodies.md.
 *
 * Each operation has a word for its task, and the task counts the threads that are cancelling it.
 * One step is one access to such a word.
 *
 * Sources:
 *   Operations/Async/AsyncBody.swift
 *   Operations/Async/AsyncRunner.swift
 *   Operations/Async/TaskWord.swift
 */

#define OPERATIONS 3

/* The operations */
bool isCancelled[OPERATIONS];   /* the lifecycle state */
bool hasBody[OPERATIONS];       /* the word: the task runs the body */
bool isLocked[OPERATIONS];      /* the word is locked */

/* The task */
bool isMarked;                  /* AsyncBody: a thread cancels the task, or has */
byte cancellers;
bool isTaskCancelled, hasEnded;

/* For the assertions */
bool isRunning[OPERATIONS];     /* the body has been told of earlier cancellations */

inline lockWord(o) { atomic { !isLocked[o] -> isLocked[o] = true } }

/* Cancels the body of an operation if it runs. */
inline cancelBody(o) {
    lockWord(o);
    found = hasBody[o];
    if
#ifdef BREAK_MARK_LATE          /* marks the task only after the word is unlocked */
    :: found -> isLocked[o] = false; isMarked = true; cancellers++
#else
    :: found -> isMarked = true; cancellers++; isLocked[o] = false
#endif
    :: else -> isLocked[o] = false
    fi;
    if
    :: found ->
        assert(!hasEnded);      /* the task must exist */
        isTaskCancelled = true;
        cancellers--
    :: else
    fi;
    found = false
}

active proctype Runner() {
    byte o;
    bool found;

    do
    :: o < OPERATIONS ->
        atomic { !isLocked[o] -> hasBody[o] = true }
#ifndef BREAK_EARLIER           /* does not look for an earlier cancellation */
        if
        :: isCancelled[o] -> cancelBody(o)
        :: else
        fi;
#endif
        isRunning[o] = true;
        /* The body. Only a cancellation of its own operation cancels the task. */
        assert(!isTaskCancelled || isCancelled[o]);
        isRunning[o] = false;
#ifdef BREAK_END                /* ends the body although the word is locked */
        hasBody[o] = false;
#else
        atomic { !isLocked[o] -> hasBody[o] = false }
#endif
        if
        :: isMarked -> break
        :: else -> o++
        fi
    :: else -> break
    od;
#ifndef BREAK_CANCELLERS        /* the task ends while a thread cancels it */
    cancellers == 0;
#endif
    hasEnded = true
}

proctype Canceller(byte o) {
    bool found;
    isCancelled[o] = true;
    cancelBody(o);
    /* A body that still runs knows of it. */
    assert(!isRunning[o] || isTaskCancelled)
}

init {
    atomic {
        run Canceller(0);
        run Canceller(1)
    }
}
