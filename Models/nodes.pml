/* Graphs of blocks: which worker runs which node, who keeps the nodes that have become ready, and
 * who ends the run. See GraphsOfBlocks.md.
 *
 * Two workers claim up to two nodes at a time. Node 0 comes before the nodes 1, 2 and 3; node 4 comes
 * after 1, 2 and 3. The monitor thread takes back what a claim has not begun and what it keeps. With
 * the macro CANCEL, a thread cancels the run.
 *
 * Lists of nodes are sets here, as bits, because the links of a list belong to whoever has the list.
 * A worker without work waits until nodes are ready; `parking.pml` proves that workers are woken.
 *
 * Sources:
 *   Operations/Graphs/BlockGraphRun.swift
 *   Operations/Graphs/NodeRun.swift
 *   Operations/Graphs/OperationQueue+Nodes.swift
 *   Operations/Graphs/QueueState+Nodes.swift
 *   Operations/Scheduling/EntrySource.swift
 */

#define NODES     5
#define CAPACITY  2
#define NONE      7

/* Guarded by the queue's lock */
bool queueLocked;
byte ready;                     /* the ready nodes that no claim holds, as bits */
bool isListed;                  /* the run is among the sources of the queue */
byte unfinished = NODES;
byte claimCount;
bool isOver;                    /* the phase */
bool isRegistered[2];

/* Atomics */
bool isCancelled;
byte left[NODES];               /* the word of a node: how many nodes before it are unfinished */
byte next[2], end[2];           /* the cursor of a claim */
byte kept[2];                   /* the nodes that a claim keeps, as bits */
byte entries[4];

/* What the assertions check */
byte runs[NODES];
byte timesEnded;

#define entry(w, i)   entries[(w) * CAPACITY + (i)]
#define lock()        atomic { !queueLocked -> queueLocked = true }
#define unlock()      queueLocked = false
#define bit(n)        (1 << (n))

/* Adds ready nodes. The caller holds the lock. */
inline insert(nodes) {
    if
    :: (nodes) != 0 && !isCancelled && !isOver -> atomic { ready = ready | (nodes); isListed = true }
    :: else
    fi
}

/* Ends the run if no node of it can run any more. Drops the ready nodes of a cancelled run, which
 * may have been cancelled since they were inserted. The caller holds the lock. */
inline checkEnd(mine) {
    atomic {
#ifndef BREAK_DROP              /* relies on the canceller to drop them */
        if
        :: isCancelled -> ready = 0; isListed = false
        :: else
        fi;
#endif
        if
        :: !isOver && claimCount == 0 && (unfinished == 0 || isCancelled) ->
#ifndef BREAK_PHASE             /* does not record that the run is over */
            isOver = true;
#endif
            mine = true
        :: else
        fi
    }
}

/* Takes the nodes that a claim keeps. The caller holds the lock. */
inline takeKept(w, nodes) {
#ifdef BREAK_KEPT               /* takes the list in two steps */
    nodes = kept[w];
    kept[w] = 0
#else
    atomic { nodes = kept[w]; kept[w] = 0 }
#endif
}

proctype Worker(byte me) {
    byte n, k, node, following, others, nodes, count;
    bool mine, isReady;

    do
    :: lock();
        atomic {                /* claims */
            n = 0;
            if
            :: isListed ->
                for (k : 0 .. NODES - 1) {
                    if
                    :: (ready & bit(k)) && n < CAPACITY ->
                        ready = ready & ~bit(k);
                        entry(me, n) = k;
                        n++
                    :: else
                    fi
                }
                k = 0;
                /* Otherwise workers would claim nothing for ever. */
                assert(n > 0);
#ifndef BREAK_LISTED            /* the run stays among the sources when no ready node is left */
                isListed = (ready != 0);
#endif
                next[me] = 0; end[me] = n;
                isRegistered[me] = true;
                claimCount++
            :: else
            fi;
            unlock()
        }
        if
        :: n == 0 ->
            (isListed || timesEnded > 0);
            if
            :: timesEnded > 0 -> break
            :: else
            fi
        :: else ->
            count = 0;
            do
            :: atomic {         /* takes the next entry */
                    if
                    :: next[me] < end[me] -> node = entry(me, next[me]); next[me]++
                    :: else -> goto retire
                    fi
                };
                do              /* runs the node, and those that follow at once */
                :: assert(timesEnded == 0);
                    if
                    :: isCancelled
                    :: else -> runs[node]++
                    fi;
                    following = NONE; others = 0;
                    for (k : 1 .. NODES - 1) {
                        if
                        :: (node == 0 && k < 4) || (node > 0 && node < 4 && k == 4) ->
                            isReady = false;
                            if
#ifdef BREAK_LAST               /* takes a count of two for the last one */
                            :: left[k] <= 2 -> isReady = true
#else
                            :: left[k] == 1 -> isReady = true       /* nobody else lowers it */
#endif
                            :: else -> atomic { left[k]--; isReady = (left[k] == 0) }
                            fi;
                            if
                            :: isReady && following == NONE -> following = k
                            :: isReady && following != NONE -> others = others | bit(k)
                            :: else
                            fi
                        :: else
                        fi
                    }
                    k = 0; isReady = false;
                    count++;
                    if
                    :: others == 0
                    :: others != 0 -> atomic { kept[me] = kept[me] | others; others = 0 }
                    :: others != 0 -> lock(); insert(others); others = 0; unlock()
                    fi;
                    if
                    :: following == NONE -> node = NONE; break
                    :: following != NONE -> node = following
                    :: following != NONE ->         /* too many in a row, or the claim is recalled */
                        atomic { kept[me] = kept[me] | bit(following); node = NONE; break }
                    fi
                od
            od;
retire:     lock();
            isRegistered[me] = false;
            takeKept(me, nodes);
            insert(nodes);
            unfinished = unfinished - count;
            claimCount--;
#ifdef BREAK_CLAIMS             /* ends a cancelled run although another claim has nodes of it */
            if
            :: isCancelled -> claimCount = 0
            :: else
            fi;
#endif
            mine = false;
            checkEnd(mine);
            unlock();
            nodes = 0; count = 0; following = NONE;
            if
            :: mine -> timesEnded++; mine = false
            :: else
            fi
        fi
    od
}

proctype Monitor() {
    byte w, k, nodes;
    if
    :: w = 0
    :: w = 1
    fi;
    lock();
    if
    :: isRegistered[w] ->
        takeKept(w, nodes);
        insert(nodes);
        nodes = 0;
        atomic {                /* a compare-and-swap: moves the end to the next entry */
            for (k : next[w] .. end[w] - 1) {
                if
                :: k < end[w] -> nodes = nodes | bit(entry(w, k))
                :: else
                fi
            }
            end[w] = (next[w] < end[w] -> next[w] : end[w]);
            k = 0
        };
        insert(nodes)
    :: else
    fi;
    nodes = 0;
    unlock()
}

#ifdef CANCEL
proctype Canceller() {
    bool mine;
#ifndef BREAK_FLAG              /* sets the flag only after it has dropped the ready nodes */
    isCancelled = true;
#endif
    lock();
    atomic { ready = 0; isListed = false };
    checkEnd(mine);
    unlock();
#ifdef BREAK_FLAG
    isCancelled = true;
#endif
    if
    :: mine -> timesEnded++
    :: else
    fi
}
#endif

init {
    byte k;
    atomic {
        left[1] = 1; left[2] = 1; left[3] = 1; left[4] = 3;
        ready = bit(0); isListed = true;
        run Worker(0);
        run Worker(1);
        run Monitor();
#ifdef CANCEL
        run Canceller();
#endif
    }
    (_nr_pr == 1);
    assert(timesEnded == 1);
    for (k : 0 .. NODES - 1) {
#ifdef CANCEL
        assert(runs[k] <= 1)
#else
        assert(runs[k] == 1)
#endif
    }
}
