/* A heap object gives up all its blocks at once, or is destroyed and its record made another heap, while blocks that
 * another thread freed are still in that thread's outbox or in the inbox.
 * Claims: a block that was given up is never given up again by a parcel of before, also when the same address is in
 * use once more; a block of today reaches its slab.
 *
 * Stands for heap::release, heap::reset, the generation in heap::deallocate_remote, heap::send and heap::collect
 * (src/heap/heap.cpp, src/heap/remote.cpp), registry::create and registry::destroy (src/heap/registry.cpp).
 * As the heap demands of a program, its release() comes after the other thread's frees; the parcels do not.
 *
 * Mutants: UNCHECKED collects parcels of any generation; STAMPED_LATE reads the generation when a parcel is sent;
 * MIXED puts blocks of two generations into one parcel; RECORD_FORGETS starts a new heap at generation 0. */

#define BLOCKS 2
#define ROUNDS 3
#define PARCELS 7

byte generation = 0;
bool in_use[BLOCKS];          /* not free in the slab */
bool freed[BLOCKS];           /* by the program, and not given back to the slab yet */

chan handed = [BLOCKS] of { byte };  /* program: owner to other thread */
byte with_other = 0;                 /* blocks that the other thread has not freed yet */

chan inbox = [PARCELS] of { byte, byte };  /* generation, a bit for each block; inbox.pml has its inside */
bool other_done = false;

inline slab_give(block) {
  assert(in_use[block]);
  assert(freed[block]);
  in_use[block] = false;
  freed[block] = false
}

inline collect() {
  do
  :: inbox ? sent_generation, sent_blocks ->
     atomic {
       if
#ifdef UNCHECKED
       :: true ->
#else
       :: sent_generation == generation ->
#endif
          block = 0;
          do
          :: block < BLOCKS && (sent_blocks & (1 << block)) -> slab_give(block); block++
          :: block < BLOCKS && !(sent_blocks & (1 << block)) -> block++
          :: block == BLOCKS -> break
          od
       :: else -> skip
       fi
     }
  :: empty(inbox) -> break
  od
}

inline give_up_all() {
  generation++;
  atomic {
    block = 0;
    do
    :: block < BLOCKS -> in_use[block] = false; freed[block] = false; block++
    :: else -> break
    od
  };
  collect()
}

proctype owner() {
  byte sent_generation, sent_blocks, block, round;
  do
  :: round < ROUNDS ->
     /* Allocates what is free and hands it over. */
     atomic {
       block = 0;
       do
       :: block < BLOCKS && !in_use[block] ->
          in_use[block] = true;
          with_other++;
          handed ! block;
          block++
       :: block < BLOCKS && in_use[block] -> block++
       :: block == BLOCKS -> break
       od
     };
     if
     :: collect()
     :: with_other == 0 -> give_up_all()
     :: with_other == 0 ->          /* destroyed, and the record is another heap at once */
        give_up_all();
#ifdef RECORD_FORGETS
        generation = 0
#endif
     fi;
     round++
  :: else -> break
  od;
  handed ! BLOCKS;
  other_done;
  collect();
  block = 0;
  do
  :: block < BLOCKS -> assert(!in_use[block]); block++
  :: else -> break
  od
}

inline send() {
#ifdef STAMPED_LATE
  filling_generation = generation;
#endif
  inbox ! filling_generation, filling;
  filling = 0
}

proctype other() {
  byte block, filling, filling_generation, generation_now;
  do
  :: handed ? block ->
     if
     :: block == BLOCKS -> break
     :: else -> skip
     fi;
     generation_now = generation;
#ifndef MIXED
     if
     :: filling != 0 && filling_generation != generation_now -> send()
     :: else -> skip
     fi;
#endif
     if
     :: filling == 0 -> filling_generation = generation_now
     :: else -> skip
     fi;
     filling = filling | (1 << block);
     atomic { freed[block] = true; with_other-- }
  :: filling != 0 -> send()         /* full, or another owner needs the place: at any time */
  od;
  if
  :: filling != 0 -> send()
  :: else -> skip
  fi;
  other_done = true
}

init {
  atomic {
    run owner();
    run other()
  }
}
