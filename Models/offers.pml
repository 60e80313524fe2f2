/* Offers: a queue that has something to run is handed to a worker that may take it. See Urgency.md.
 *
 * A queue of width one has a graph with two ready nodes, and two operations that become ready at
 * any time. Each of the three has one of two urgencies and one of two priorities, chosen at the
 * beginning. The graph and one operation may be promoted at any time. Two workers take references
 * to the queue, each with the urgency with which the queue was offered, and claim only what has
 * that urgency.
 *
 * A worker that has found nothing must not be followed by one that finds nothing either, without an
 * event in between: the workers would spin. That is so if the queue is never offered, in the hold
 * of the lock in which a claim finds nothing, with the urgency of that claim.
 *
 * A promotion changes a state without the queue's lock, and then takes the lock and offers the
 * queue. Each hold of the lock is one step.
 *
 * Sources:
 *   Operations/Scheduling/QueueState+Claiming.swift
 *   Operations/Scheduling/QueueState+Offering.swift
 *   Operations/Scheduling/ReadySources.swift
 */

#define OPERATIONS  2
#define NODES       2
#define NONE        9

/* What waits */
bool  isReady[OPERATIONS];
byte  readyNodes;
byte  lane[OPERATIONS], urgency[OPERATIONS];
byte  graphLane, graphUrgency;

/* The queue, and the references in the pool */
bool  isTaken;                  /* the slot */
bool  isOffered[2];
byte  references[2];

byte  ended;
#define isOver  (ended == OPERATIONS + NODES)

/* The operation to start next: of the highest priority, the first */
#define best \
    ((isReady[0] && !(isReady[1] && lane[1] > lane[0])) -> 0 : (isReady[1] -> 1 : NONE))

/* At the end of each hold of the lock. A reference that is at least as urgent serves, too. */
inline offer() {
    if
    :: !isTaken && (readyNodes > 0 || best != NONE) ->
        highest = 0;
        if
        :: readyNodes > 0 && graphUrgency > highest -> highest = graphUrgency
        :: else
        fi;
        if
        :: best != NONE && urgency[best] > highest -> highest = urgency[best]
        :: else
        fi;
        if
        :: isOffered[1] || isOffered[highest] -> highest = NONE
        :: else ->
            isOffered[highest] = true;
            references[highest]++
        fi
    :: else -> highest = NONE
    fi
}

active [2] proctype Worker() {
    byte mine, highest;
    bool hasNode, hasOperation;

end_idle:
    do
    :: atomic {
            references[0] > 0 || references[1] > 0 ->
            if
            :: references[0] > 0 -> mine = 0
            :: references[1] > 0 -> mine = 1
            fi;
            references[mine]--
        }
        /* One hold: the claim */
        d_step {
#ifndef BREAK_REFERENCE         /* the queue still counts on the reference */
            isOffered[mine] = false;
#endif
            if
            :: isTaken
#ifdef BREAK_GIVE_WAY           /* nodes give way to what this worker may not take */
            :: !isTaken && readyNodes > 0 && graphUrgency == mine &&
                !(best != NONE && lane[best] > graphLane) ->
#else
            :: !isTaken && readyNodes > 0 && graphUrgency == mine &&
                !(best != NONE && lane[best] > graphLane && urgency[best] == mine) ->
#endif
                hasNode = true;
                readyNodes--
            :: else ->
                if
                :: best != NONE && urgency[best] == mine ->
                    hasOperation = true;
                    isReady[best] = false
                :: else
                fi
            fi;
            isTaken = isTaken || hasNode || hasOperation;
#ifdef BREAK_OFFER              /* who finds nothing offers nothing */
            if
            :: hasNode || hasOperation -> offer()
            :: else -> highest = NONE
            fi;
#else
            offer();
#endif
            /* Nothing was found, so nobody with this urgency is asked again. */
            assert(hasNode || hasOperation || highest != mine)
        }
        if
        :: hasNode || hasOperation ->
            /* Another hold: the claim is retired. */
            d_step {
                hasNode = false;
                hasOperation = false;
                isTaken = false;
                ended++;
                offer()
            }
        :: else
        fi;
        d_step { mine = 0; highest = 0 }
    od
}

/* An operation becomes ready. */
proctype Arrival(byte o) {
    byte highest;
    d_step { isReady[o] = true; offer() }
}

/* A promotion; it has no effect on what has begun. */
active proctype Promotion() {
    byte highest;
    if
    :: graphUrgency = 1
    :: urgency[0] = 1
    :: true
    fi;
    d_step { offer() }
}

init {
    byte highest;
    atomic {
        if :: lane[0] = 0 :: lane[0] = 1 fi;
        if :: lane[1] = 0 :: lane[1] = 1 fi;
        if :: graphLane = 0 :: graphLane = 1 fi;
        if :: urgency[0] = 0 :: urgency[0] = 1 fi;
        if :: urgency[1] = 0 :: urgency[1] = 1 fi;
        if :: graphUrgency = 0 :: graphUrgency = 1 fi;
        run Arrival(0);
        run Arrival(1)
    }
    d_step { readyNodes = NODES; offer() }
    /* Everything has run. If not, this process waits here for ever, which is an invalid end
     * state. */
    isOver
}
