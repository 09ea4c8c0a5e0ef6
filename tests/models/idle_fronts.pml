/* A visitor takes blocks out of a front magazine while its owner may be in the middle of malloc or free.
 * Claims: each block is in one place: with the program, in the magazine, or with the visitor.
 *
 * Stands for pop and push (include/tarn/detail/fast_path.hpp) and heap::empty_fronts (src/memory/heap/idle_fronts.cpp).
 * Each statement is one access to memory; the owner's stores wait in a buffer, as in a processor, and become visible in order,
 * at any later moment or by the visitor's barrier. That no slow path runs during a visit is the claim of owner_lock.pml.
 *
 * Variant WIDE: pop_watched, which reads the entry again after its store to top, so that the visitor may take the newest block.
 *
 * Mutants: NO_BARRIER leaves out membarrier; TAKE_NEWEST takes the entry below top, too; TRUST_ALL does not look at the entries
 * again; TOP_ALONE looks at top only; KEEP does not put back what may be the owner's; PUT_BLIND puts it back without a
 * look. Of WIDE: LOOK_EARLY reads the entry again before the store; NO_UNDO leaves top as it is when
 * the block is gone. */

#if defined(LOOK_EARLY) || defined(NO_UNDO)
#define WIDE
#endif

#define N 3                   /* entries; blocks have the numbers 1 to N */
#define TOP N                 /* where top is */
#define CALLS 5
#if defined(TAKE_NEWEST) || defined(WIDE)
#define MARGIN 0
#else
#define MARGIN 1
#endif

byte memory[N + 1];
byte place[4], value[4], waiting;   /* the owner's store buffer */
byte held;                    /* a bit for each block with the program */
byte bag;                     /* the same for the visitor */
bool visiting, slow;

inline store(where, what) {
  atomic {
    waiting < 4 -> place[waiting] = where; value[waiting] = what; waiting++
  }
}

inline drain_one() {
  memory[place[0]] = value[0];
  place[0] = place[1]; value[0] = value[1];
  place[1] = place[2]; value[1] = value[2];
  place[2] = place[3]; value[2] = value[3];
  waiting--
}

inline load(where, target) {
  atomic {
    target = memory[where];
    if :: waiting > 0 && place[0] == where -> target = value[0] :: else fi;
    if :: waiting > 1 && place[1] == where -> target = value[1] :: else fi;
    if :: waiting > 2 && place[2] == where -> target = value[2] :: else fi;
    if :: waiting > 3 && place[3] == where -> target = value[3] :: else fi
  }
}

proctype owner() {
  byte calls, top, block;
  do
  :: calls == CALLS -> break
  :: calls < CALLS ->         /* malloc */
     calls++;
     load(TOP, top);
     block = 0;
     if
     :: top > 0 -> load(top - 1, block)
     :: else
     fi;
     if
     :: block == 0 -> break   /* the slow path */
     :: else ->
#ifdef WIDE
#ifndef LOOK_EARLY
        store(TOP, top - 1);
#endif
        load(top - 1, block);
#ifdef LOOK_EARLY
        store(TOP, top - 1);
#endif
        if
        :: block == 0 ->
#ifndef NO_UNDO
           store(TOP, top);
#endif
           break
        :: else
        fi;
#else
        store(TOP, top - 1);
#endif
        assert((held & (1 << block)) == 0);
        held = held | (1 << block)
     fi
  :: calls < CALLS && held != 0 ->   /* free */
     calls++;
     if
     :: (held & 2) != 0 -> block = 1
     :: (held & 4) != 0 -> block = 2
     :: (held & 8) != 0 -> block = 3
     fi;
     load(TOP, top);
     if
     :: top == N -> break
     :: else
     fi;
     held = held & ~(1 << block);
     store(top, block);
     store(TOP, top + 1)
  od;
  atomic { !visiting -> slow = true }
}

proctype drain() {
  do
  :: atomic { waiting > 0 -> drain_one() }
  :: atomic { slow && waiting == 0 -> break }
  od
}

inline put_back() {
#ifdef PUT_BLIND
  memory[entry] = taken[entry]
#else
#ifdef KEEP
  skip
#else
  atomic {
    if
    :: memory[entry] == 0 -> memory[entry] = taken[entry]
    :: else
    fi
  }
#endif
#endif
}

proctype visitor() {
  byte entry, end, top, now, taken[N], rounds;
  do
  :: rounds == 2 -> break
  :: atomic { !slow && rounds < 2 -> visiting = true };
     rounds++;
     end = 0;
     do
     :: memory[TOP] > end + MARGIN ->
        atomic { taken[end] = memory[end]; memory[end] = 0 };
        end++
     :: else -> break
     od;
#ifndef NO_BARRIER
     atomic {
       do
       :: waiting > 0 -> drain_one()
       :: else -> break
       od
     };
#endif
     entry = 0;
     do
     :: entry == end -> break
     :: else ->
        if
        :: taken[entry] != 0 ->
           top = memory[TOP];
           now = memory[entry];
           if
#ifdef TRUST_ALL
           :: true ->
#else
#ifdef TOP_ALONE
           :: top > entry + MARGIN ->
#else
           :: top > entry + MARGIN && now == 0 ->
#endif
#endif
              bag = bag | (1 << taken[entry])
           :: else -> put_back()
           fi
        :: else
        fi;
        entry++
     od;
     visiting = false
  :: slow -> break
  od
}

inline check() {
  byte block = 1, entry, places;
  do
  :: block > N -> break
  :: else ->
     places = (held >> block & 1) + (bag >> block & 1);
     entry = 0;
     do
     :: entry == memory[TOP] -> break
     :: else ->
        places = places + (memory[entry] == block);
        entry++
     od;
     assert(places == 1);
     block++
  od
}

init {
  atomic {
    memory[0] = 1;
    memory[1] = 2;
    if
    :: memory[2] = 3; memory[TOP] = 3
    :: memory[TOP] = 2; held = 1 << 3
    fi;
    run owner();
    run drain();
    run visitor()
  };
  (_nr_pr == 1);
  d_step { check() }
}
