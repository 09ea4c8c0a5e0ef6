/* One heap that loses its owner while blocks are on their way to it, is tended, adopted from, and acquired.
 * Claims: never do two threads act for the heap at once; when all is quiet, nothing waits in the inbox of an idle
 * heap; each block arrived once; the heap stands in the list of idle ones.
 *
 * Stands for heap::receive (src/memory/heap/remote.cpp), heap::retire, heap::tend, heap::give_directly,
 * heap::reclaim_for_owner and the states in heap::adopt_slab (src/memory/heap/without_owner.cpp), registry::acquire,
 * registry::give_idle and registry::tend_next_idle (src/memory/heap/registry.cpp). Each statement is one atomic operation,
 * in sequentially consistent order; idle_weak.cpp asks what is left of that under the memory model of C++.
 *
 * Mutants: SENDER_BLIND does not look at the state after posting, RECLAIMER_BLIND after posting what it keeps;
 * DIRECT_BLIND gives a block directly and does not look into the inbox afterwards; OWNER_BLIND does not look after
 * going idle; TENDER_ONCE does not look again; TEND_UNASKED and ACQUIRE_UNASKED store where a compare-exchange
 * stands; ADOPTER_BLIND gives the heap back without a look. */

#define BLOCKS 2
#define OWNED 0
#define IDLE 1
#define TENDING 2

byte state = OWNED;
byte waiting = 0;             /* the inbox, a bit for each block; remote_frees.pml has its inside */
byte arrived = 0;             /* the same for blocks that the heap took in */
byte acting = 1;              /* threads that may touch the heap's inside */
bool listed = false;
bool locked = false;          /* the registry's lock */

inline collect() {
  atomic { batch = waiting; waiting = 0 };
  assert(acting == 1);
  atomic {
    assert((arrived & batch) == 0);
    arrived = arrived | batch;
    batch = 0
  }
}

/* The state goes from IDLE to `wanted`; `got` says whether it did. */
inline claim(wanted) {
  atomic {
    got = (state == IDLE);
    if
    :: got -> state = wanted; acting++
    :: else -> skip
    fi
  }
}

inline leave() {
  atomic { acting--; state = IDLE }
}

inline tend() {
  do
  :: atomic { waiting == 0 -> got = false; break }
  :: waiting != 0 ->
#ifdef TEND_UNASKED
     atomic { state = TENDING; acting++; got = true };
#else
     claim(TENDING);
#endif
     if
     :: !got -> break
     :: else -> collect(); leave()
     fi;
#ifdef TENDER_ONCE
     break
#endif
  od
}

inline retire() {
  collect();
  leave();
#ifndef OWNER_BLIND
  tend();
#endif
  atomic { !locked -> locked = true };
  assert(!listed);
  listed = true;
  locked = false
}

proctype first_owner() {
  byte batch; bool got;
  retire()
}

proctype sender(byte block) {
  byte batch; bool got;
  if
  :: state == IDLE ->             /* gives it directly */
     claim(TENDING);
     if
     :: got ->
        atomic { assert(acting == 1); assert((arrived & (1 << block)) == 0); arrived = arrived | (1 << block) };
        leave();
#ifndef DIRECT_BLIND
        tend();
#endif
        goto sent
     :: else -> skip
     fi
  :: else -> skip
  fi;
  waiting = waiting | (1 << block);
#ifndef SENDER_BLIND
  if
  :: state == IDLE -> tend()
  :: else -> skip
  fi;
#endif
sent:
  skip
}

/* A sender who finds that much waits: takes it out, and posts what it keeps. */
proctype reclaimer() {
  byte batch; byte taken; bool got;
  atomic { taken = waiting; waiting = 0 };
  waiting = waiting | taken;
#ifndef RECLAIMER_BLIND
  if
  :: taken != 0 && state == IDLE -> tend()
  :: else -> skip
  fi
#endif
}

/* A thread that starts: takes the heap if it can, uses it, ends. */
proctype next_owner() {
  byte batch; bool got;
  atomic { !locked -> locked = true };
  if
  :: listed ->
#ifdef ACQUIRE_UNASKED
     atomic { state = OWNED; acting++; got = true };
#else
     claim(OWNED);
#endif
     if
     :: got -> listed = false
     :: else -> skip
     fi
  :: else -> skip
  fi;
  locked = false;
  if
  :: got -> retire()
  :: else -> skip
  fi
}

/* A thread that looks for a slab in idle heaps. */
proctype adopter() {
  byte batch; bool got;
  atomic { !locked -> locked = true };
  if
  :: listed -> claim(TENDING)
  :: else -> skip
  fi;
  locked = false;
  if
  :: got ->
     collect();
     leave();
#ifndef ADOPTER_BLIND
     tend()
#endif
  :: else -> skip
  fi
}

init {
  byte block = 0;
  atomic {
    run first_owner();
    run next_owner();
    run adopter();
    run reclaimer();
    do
    :: block < BLOCKS -> run sender(block); block++
    :: else -> break
    od
  }
  (_nr_pr == 1);
  assert(state == IDLE && acting == 0);
  assert(waiting == 0);
  assert(arrived == (1 << BLOCKS) - 1);
  assert(listed)
}
