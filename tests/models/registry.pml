/* The list of heaps without an owner: threads come and go, one looks at idle heaps for a slab, one sends a block.
 * Claims: a heap has one owner at most and nobody acts beside it; each heap that was made is at the end idle and in
 * the list once; heaps are used again: two threads and two tenders need four at most.
 *
 * Stands for registry::acquire, registry::give_idle, registry::tend_next_idle (src/memory/heap/registry.cpp)
 * together with the states of heap::retire, heap::tend and heap::adopt_slab (src/memory/heap/without_owner.cpp).
 *
 * Mutants: NO_LOCK walks and changes the list without the registry's lock; ACQUIRE_UNASKED takes a heap without
 * compare-exchange; STILL_OWNED lists a heap that is not idle, so that nobody ever gets it. */

#define MOST 4                /* two may be tended while both threads look for theirs */
#define OWNED 0
#define IDLE 1
#define TENDING 2

byte made = 0;
byte state[MOST];
byte acting[MOST];
byte order[MOST];             /* the list, front first */
byte listed = 0;
bool locked = false;

#ifdef NO_LOCK
inline lock_registry() { skip }
#else
inline lock_registry() { atomic { !locked -> locked = true } }
#endif
inline unlock_registry() { locked = false }

inline claim(whose, wanted) {
  atomic {
    got = (state[whose] == IDLE);
    if
    :: got -> state[whose] = wanted; acting[whose]++; assert(acting[whose] == 1)
    :: else -> skip
    fi
  }
}

inline leave(whose) {
  atomic { acting[whose]--; state[whose] = IDLE }
}

/* Takes order[at] out, in the steps that a list takes. */
inline unlink(at) {
  do
  :: at + 1 < listed -> order[at] = order[at + 1]; at++
  :: else -> break
  od;
  listed--
}

inline push_front(whose) {
  at = listed;
  do
  :: at > 0 -> order[at] = order[at - 1]; at--
  :: else -> break
  od;
  order[0] = whose;
  listed++
}

inline acquire(mine) {
  lock_registry();
  at = 0;
  mine = MOST;
  do
  :: at < listed ->
#ifdef ACQUIRE_UNASKED
     got = true;
     atomic { state[order[at]] = OWNED; acting[order[at]]++; assert(acting[order[at]] == 1) };
#else
     claim(order[at], OWNED);
#endif
     if
     :: got -> mine = order[at]; unlink(at); break
     :: else -> at++          /* somebody tends it at this moment */
     fi
  :: else -> break
  od;
  if
  :: mine == MOST -> assert(made < MOST); mine = made; made++; acting[mine]++; state[mine] = OWNED
  :: else -> skip
  fi;
  unlock_registry()
}

inline give_idle(whose) {
  lock_registry();
  push_front(whose);
  unlock_registry()
}

proctype thread() {
  byte mine, at, round; bool got;
  do
  :: round < 3 ->
     acquire(mine);
     assert(acting[mine] == 1);
#ifdef STILL_OWNED
     acting[mine]--;
#else
     leave(mine);             /* retire, which may tend */
     claim(mine, TENDING);
     if
     :: got -> leave(mine)
     :: else -> skip
     fi;
#endif
     give_idle(mine);
     round++
  :: else -> break
  od
}

/* adopt_slab: claims the first, which goes to the end of the list, and acts for it without the lock. */
proctype adopter() {
  byte at, seen, round; bool got;
  do
  :: round < 2 ->
     got = false;
     lock_registry();
     if
     :: listed > 0 ->
        seen = order[0];
        at = 0;
        unlink(at);
        order[listed] = seen;
        listed++;
        claim(seen, TENDING)
     :: else -> skip
     fi;
     unlock_registry();
     if
     :: got -> leave(seen)
     :: else -> skip
     fi;
     round++
  :: else -> break
  od
}

/* Somebody who sent a block to the first heap and found it idle. */
proctype tender() {
  bool got;
  made > 0;
  claim(0, TENDING);
  if
  :: got -> leave(0)
  :: else -> skip
  fi
}

init {
  byte whose, at, times;
  atomic {
    run thread();
    run thread();
    run adopter();
    run tender()
  }
  (_nr_pr == 1);
  do
  :: whose < made ->
     assert(state[whose] == IDLE && acting[whose] == 0);
     at = 0;
     times = 0;
     do
     :: at < listed -> times = times + (order[at] == whose); at++
     :: else -> break
     od;
     assert(times == 1);
     whose++
  :: else -> break
  od
}
