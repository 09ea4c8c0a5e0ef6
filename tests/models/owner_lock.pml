/* An owner's slow paths, and visitors who act for it: two slow paths, two visits.
 * Claims: never both at once; the owner gets in at last.
 *
 * Stands for owner_lock::enter and owner_lock::try_visit (src/memory/heap/owner_lock.hpp, owner_lock.cpp). Each statement is one
 * atomic operation; the owner's store of `working` waits in a buffer, as in a processor, and is visible to the visitor when the
 * buffer drains: at any later moment, or by the visitor's barrier in all threads. The owner sees its own stores. The wait of
 * the owner is a loop here.
 *
 * Mutants: NO_BARRIER leaves out membarrier; READ_FIRST lets the owner look for a visitor before it announces itself;
 * LOOK_EARLY lets the visitor look for the owner before the barrier; ANNOUNCE_LATE lets the visitor announce itself after
 * it. */

#define NOTHING 9

byte working;                 /* as the visitor sees it */
byte buffered = NOTHING;      /* a store of the owner that is on its way */
bool visited;
bool done;
byte inside;

inline store(value) {
  atomic { buffered == NOTHING -> buffered = value }   /* stores leave in order */
}

proctype owner() {
  byte count;
  bool seen;
  do
  :: count == 2 -> break
  :: else ->
     do
#ifdef READ_FIRST
     :: seen = visited; store(1);
#else
     :: store(1); seen = visited;
#endif
        if
        :: !seen -> break
        :: else -> store(0); !visited
        fi
     od;
     inside++;
     assert(inside == 1);
     inside--;
     store(0);
     count++
  od;
  done = true
}

proctype drain() {
  do
  :: atomic { buffered != NOTHING -> working = buffered; buffered = NOTHING }
  :: atomic { done && buffered == NOTHING -> break }
  od
}

inline barrier() {
#ifdef NO_BARRIER
  skip
#else
  atomic {
    if
    :: buffered != NOTHING -> working = buffered; buffered = NOTHING
    :: else -> skip
    fi
  }
#endif
}

proctype visitor() {
  byte count, seen;
  do
  :: count == 2 -> break
  :: else ->
#ifdef ANNOUNCE_LATE
     barrier();
     visited = true;
     seen = working;
#else
     visited = true;
#ifdef LOOK_EARLY
     seen = working;
     barrier();
#else
     barrier();
     seen = working;
#endif
#endif
     if
     :: seen == 0 ->
        inside++;
        assert(inside == 1);
        inside--
     :: else -> skip
     fi;
     visited = false;
     count++
  od
}

init {
  atomic {
    run owner();
    run drain();
    run visitor()
  }
}
