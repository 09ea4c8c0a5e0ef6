/* A slab changes hands while other threads free blocks of it, some of them by the key of before.
 * Claims: each block ends in its slab, once, put there by the heap that owns the slab at that moment; nothing waits
 * in the inbox of an idle heap.
 *
 * Stands for heap::adopt_slab, heap::collect, heap::collect_into_slabs, heap::bounce, heap::deallocate_remote,
 * heap::tend and heap::retire (src/heap/remote.cpp), page_map::set (src/pages/page_map.cpp, one unit after the other),
 * and for the look-up of the key in deallocate_slow (src/thread/paths.cpp).
 * Each of the two blocks lies in a unit of its own, so that both keys may be seen at once.
 *
 * Mutants: BOUNCE_BLIND passes a block on without a look at the state of its new owner; KEY_TRUSTED puts what
 * arrives into its slab without reading the key again; ADOPT_UNASKED takes a slab from a heap without claiming it;
 * ADOPTER_BLIND gives the robbed heap back without a look into its inbox. */

#define HEAPS 2
#define BLOCKS 2
#define OWNED 0
#define IDLE 1
#define TENDING 2

byte state[HEAPS];
byte waiting[HEAPS];          /* inboxes, a bit for each block */
byte acting[HEAPS];           /* threads that may touch a heap's inside */
bool listed[HEAPS];
bool locked = false;          /* the registry's lock */

byte slab_owner = 0;          /* in whose list the slab stands */
byte key[BLOCKS];             /* the page map: the owner by the unit of each block */
byte in_slab = 0;             /* blocks that are free in the slab */

inline post(to, block) { waiting[to] = waiting[to] | (1 << block) }

inline claim(whose, wanted) {
  atomic {
    got = (state[whose] == IDLE);
    if
    :: got -> state[whose] = wanted; acting[whose]++
    :: else -> skip
    fi
  }
}

inline leave(whose) {
  atomic { acting[whose]--; state[whose] = IDLE }
}

inline lock_registry() {
  atomic { !locked -> locked = true }
}

/* give_to_slab, by whoever acts for `whose`. */
inline give(whose, block) {
  atomic {
    assert(acting[whose] == 1);
    assert(slab_owner == whose);
    assert((in_slab & (1 << block)) == 0);
    in_slab = in_slab | (1 << block)
  }
}

/* collect_into_slabs, bounce and tend call each other. With two heaps that ends at the second: a third would act for
 * a heap that is claimed already (asserted). So there are two copies, `inner` for the second. */
inline collect_inner(whose) {
  atomic { batch2 = waiting[whose]; waiting[whose] = 0; block2 = 0 };
  do
  :: atomic { block2 < BLOCKS && (batch2 & (1 << block2)) -> owner2 = key[block2] };
#ifdef KEY_TRUSTED
     owner2 = whose;
#endif
     if
     :: owner2 == whose -> give(whose, block2)
     :: else ->
        post(owner2, block2);
        assert(state[owner2] != IDLE)
     fi;
     block2++
  :: block2 < BLOCKS && !(batch2 & (1 << block2)) -> block2++
  :: block2 == BLOCKS -> break
  od;
  atomic { batch2 = 0; block2 = 0; owner2 = 0 }
}

inline tend_inner(whose) {
  do
  :: waiting[whose] == 0 -> break
  :: else ->
     claim(whose, TENDING);
     if
     :: !got -> break
     :: else -> collect_inner(whose); leave(whose)
     fi
  od
}

inline collect_into_slabs(whose) {
  atomic { batch = waiting[whose]; waiting[whose] = 0; block = 0 };
  do
  :: atomic { block < BLOCKS && (batch & (1 << block)) -> owner = key[block] };
#ifdef KEY_TRUSTED
     owner = whose;
#endif
     if
     :: owner == whose -> give(whose, block)
     :: else ->
        post(owner, block);
#ifndef BOUNCE_BLIND
        if
        :: state[owner] == IDLE -> tend_inner(owner)
        :: else -> skip
        fi
#endif
     fi;
     block++
  :: block < BLOCKS && !(batch & (1 << block)) -> block++
  :: block == BLOCKS -> break
  od;
  atomic { batch = 0; block = 0; owner = 0 }
}

inline tend(whose) {
  do
  :: waiting[whose] == 0 -> break
  :: else ->
     claim(whose, TENDING);
     if
     :: !got -> break
     :: else -> collect_into_slabs(whose); leave(whose)
     fi
  od
}

/* The owner's collect: blocks of others go out through the outbox, which is sent before the owner leaves. */
inline collect(whose) {
  atomic { batch = waiting[whose]; waiting[whose] = 0; block = 0 };
  do
  :: atomic { block < BLOCKS && (batch & (1 << block)) -> owner = key[block] };
     if
     :: owner == whose -> give(whose, block)
     :: else -> outbox[owner] = outbox[owner] | (1 << block)
     fi;
     block++
  :: block < BLOCKS && !(batch & (1 << block)) -> block++
  :: block == BLOCKS -> break
  od;
  atomic { batch = 0; block = 0; owner = 0 }
}

inline send_all(whose) {
  if
  :: outbox[1 - whose] != 0 ->
     atomic {
       waiting[1 - whose] = waiting[1 - whose] | outbox[1 - whose];
       outbox[1 - whose] = 0
     };
     if
     :: state[1 - whose] == IDLE -> tend(1 - whose)
     :: else -> skip
     fi
  :: else -> skip
  fi
}

inline retire(whose) {
  collect(whose);
  send_all(whose);
  leave(whose);
  tend(whose);
  atomic { !locked -> listed[whose] = true }
}

inline adopt_slab(mine, from) {
  lock_registry();
  if
  :: listed[from] ->
#ifdef ADOPT_UNASKED
     acting[from]++; got = true;
#else
     claim(from, TENDING);
#endif
     if
     :: got ->
        collect_into_slabs(from);
        if
        :: atomic { slab_owner == from ->      /* it has free blocks beside these two */
             slab_owner = mine;
             key[0] = mine
           };
           key[1] = mine
        :: else -> skip
        fi;
        leave(from);
#ifndef ADOPTER_BLIND
        tend(from)
#endif
     :: else -> skip
     fi
  :: else -> skip
  fi;
  locked = false
}

/* A thread: starts with heap `mine`, or (HEAPS) takes an idle one if it can; looks for a slab; ends. */
proctype thread(byte mine; bool looks) {
  byte batch, block, owner, batch2, block2, owner2, outbox[HEAPS]; bool got;
  if
  :: mine == HEAPS ->
     atomic {
       !locked -> locked = true;
       if
       :: listed[1] -> mine = 1
       :: !listed[1] && listed[0] -> mine = 0
       :: else -> skip
       fi
     };
     if
     :: mine < HEAPS ->
        claim(mine, OWNED);
        if
        :: got -> listed[mine] = false
        :: else -> mine = HEAPS
        fi
     :: else -> skip
     fi;
     locked = false
  :: else -> skip
  fi;
  if
  :: mine < HEAPS && looks -> adopt_slab(mine, 1 - mine)
  :: else -> skip
  fi;
  if
  :: mine < HEAPS -> retire(mine)
  :: else -> skip
  fi
}

proctype sender(byte freed) {
  byte to, batch, block, owner, batch2, block2, owner2; bool got;
  to = key[freed];
  post(to, freed);
  if
  :: state[to] == IDLE -> tend(to)
  :: else -> skip
  fi
}

init {
  atomic {
    acting[0] = 1;
    acting[1] = 1;
    run thread(0, false);     /* in its slab the blocks are at first */
    run thread(1, true);
    run sender(0);
#ifdef LATE_THREAD
    run thread(HEAPS, true);
    in_slab = 1 << 1
#else
    run sender(1)
#endif
  }
  (_nr_pr == 1);
  assert(waiting[0] == 0 && waiting[1] == 0);
  assert(in_slab == (1 << BLOCKS) - 1);
  assert(state[0] == IDLE && state[1] == IDLE && listed[0] && listed[1])
}
