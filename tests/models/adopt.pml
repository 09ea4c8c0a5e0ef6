/* A slab changes hands while other threads free blocks of it, some of them by the key of before.
 * Claims: each block ends in its slab, once, put there by whoever acts for the heap that owns the slab at that moment;
 * the slab is in one inbox at most; it is not left in the inbox of an idle heap.
 *
 * Stands for heap::adopt_slab, heap::give_directly, heap::tend and heap::retire (src/memory/heap/without_owner.cpp),
 * heap::receive and heap::take_inbox (src/memory/heap/remote.cpp), page_map::set (src/memory/pages/page_map.cpp, one unit after the
 * other), and for the look-up of the key in deallocate_slow and free_small (src/memory/thread/paths.cpp).
 * Each of the two blocks lies in a unit of its own, so that both keys may be seen at once.
 *
 * Mutants: FORWARD_BLIND sends a slab on without a look at the state of its owner; KEY_TRUSTED takes the bits of
 * whatever slab arrives; DIRECT_TRUSTED gives a block directly without reading the key again; ADOPT_UNASKED takes a
 * slab from a heap without claiming it; ADOPTER_BLIND gives the robbed heap back without a look into its inbox.
 * With LATE_THREAD: KEY_OF_BEFORE frees a block by the key that the thread read before it had a heap. */

#define HEAPS 2
#define BLOCKS 2
#define OWNED 0
#define IDLE 1
#define TENDING 2

byte state[HEAPS];
bool waiting[HEAPS];          /* inboxes: whether the slab is in it */
byte acting[HEAPS];           /* threads that may touch a heap's inside */
bool listed[HEAPS];
bool locked = false;          /* the registry's lock */

byte slab_owner = 0;          /* in whose list the slab stands */
byte key[BLOCKS];             /* the page map: the owner by the unit of each block; key[0] is the slab's */
byte bits = 0;                /* remote frees of the slab */
byte in_slab = 0;             /* blocks that are free in the slab */

inline post(to) {
  atomic { assert(!waiting[0] && !waiting[1]); waiting[to] = true }
}

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

/* give_word, by whoever acts for `whose`. */
inline give(whose, some) {
  atomic {
    assert(acting[whose] == 1);
    assert(slab_owner == whose);
    assert((in_slab & some) == 0);
    in_slab = in_slab | some;
    some = 0
  }
}

/* take_inbox and tend call each other. With two heaps that ends at the second: a third would act for a heap that is
 * claimed already (asserted). So there are two copies, `inner` for the second. */
inline take_in_inner(whose) {
  atomic { taken2 = waiting[whose]; waiting[whose] = false };
  if
  :: taken2 ->
     owner2 = key[0];
#ifdef KEY_TRUSTED
     owner2 = whose;
#endif
     if
     :: owner2 == whose ->
        atomic { batch2 = bits; bits = 0 };
        give(whose, batch2)
     :: else ->
        post(owner2);
        assert(state[owner2] != IDLE)
     fi
  :: else -> skip
  fi;
  atomic { taken2 = false; owner2 = 0 }
}

inline tend_inner(whose) {
  do
  :: !waiting[whose] -> break
  :: else ->
     claim(whose, TENDING);
     if
     :: !got -> break
     :: else -> take_in_inner(whose); leave(whose)
     fi
  od
}

inline take_inbox(whose) {
  atomic { taken = waiting[whose]; waiting[whose] = false };
  if
  :: taken ->
     owner = key[0];
#ifdef KEY_TRUSTED
     owner = whose;
#endif
     if
     :: owner == whose ->
        atomic { batch = bits; bits = 0 };
        give(whose, batch)
     :: else ->
        post(owner);
#ifndef FORWARD_BLIND
        if
        :: state[owner] == IDLE -> tend_inner(owner)
        :: else -> skip
        fi
#endif
     fi
  :: else -> skip
  fi;
  atomic { taken = false; owner = 0 }
}

inline tend(whose) {
  do
  :: !waiting[whose] -> break
  :: else ->
     claim(whose, TENDING);
     if
     :: !got -> break
     :: else -> take_inbox(whose); leave(whose)
     fi
  od
}

inline retire(whose) {
  take_inbox(whose);
  leave(whose);
  tend(whose);
  atomic { !locked -> listed[whose] = true }
}

inline adopt_slab(mine, from) {
  got = false;
  lock_registry();
  if
  :: listed[from] ->
#ifdef ADOPT_UNASKED
     acting[from]++; got = true
#else
     claim(from, TENDING)
#endif
  :: else -> skip
  fi;
  locked = false;
  if
  :: got ->
     take_inbox(from);
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
}

/* A free by a thread that does not own heap `to`, which is whom it takes for the owner. */
inline send(some) {
  if
  :: state[to] == IDLE ->
     claim(to, TENDING);
     if
     :: got ->
        if
#ifdef DIRECT_TRUSTED
        :: true -> give(to, some); done = true
#else
        :: key[0] == to -> give(to, some); done = true
        :: else -> skip
#endif
        fi;
        leave(to);
        tend(to)
     :: else -> skip
     fi
  :: else -> skip
  fi;
  if
  :: done -> skip
  :: else ->
     atomic { before = bits; assert((before & some) == 0); bits = before | some };
     if
     :: before == 0 ->
        post(to);
        if
        :: state[to] == IDLE -> tend(to)
        :: else -> skip
        fi
     :: else -> skip
     fi
  fi
}

/* A thread: starts with heap `mine`, or (HEAPS) takes an idle one if it can, and then frees block 1, whose key it has
 * read before; looks for a slab; ends. */
proctype thread(byte mine; bool looks) {
  byte to, before, some, batch, owner, batch2, owner2; bool got, done, taken, taken2, frees;
  if
  :: mine == HEAPS ->
     frees = true;
     to = key[1];
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
  :: frees ->
     some = 1 << 1;
#ifndef KEY_OF_BEFORE
     to = key[1];
#endif
     if
     :: to == mine -> give(mine, some)
     :: else -> send(some)
     fi
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
  byte to, before, some, batch, owner, batch2, owner2; bool got, done, taken, taken2;
  to = key[freed];
  some = 1 << freed;
  send(some)
}

init {
  atomic {
    acting[0] = 1;
    acting[1] = 1;
    run thread(0, false);     /* in its slab the blocks are at first */
    run thread(1, true);
    run sender(0);
#ifdef LATE_THREAD
    run thread(HEAPS, true)
#else
    run sender(1)
#endif
  }
  (_nr_pr == 1);
  assert(!waiting[0] && !waiting[1] && bits == 0);
  assert(in_slab == (1 << BLOCKS) - 1);
  assert(state[0] == IDLE && state[1] == IDLE && listed[0] && listed[1])
}
