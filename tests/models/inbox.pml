/* The inbox as a stack of parcels whose memory is used again: any thread posts, whoever acts for the heap
 * empties it whole. Claim: no parcel is lost, none is taken twice, whatever memory comes back at once.
 *
 * Stands for inbox::post and inbox::take_all (src/heap/inbox.hpp) and the loop of heap::collect, which reads a
 * parcel's link before it gives the parcel's memory away (src/heap/remote.cpp).
 *
 * Mutants: POP_ONE takes the first parcel alone (the ABA problem); LINK_LATE reads the link after giving away. */

#define PARCELS 2     /* memory for so many at a time */
#define BLOCKS 2      /* that each sender frees, one in a parcel */
#define NONE 0

byte head = NONE;             /* inbox: a parcel, or NONE */
byte next[PARCELS + 1];
byte content[PARCELS + 1];    /* the block in it */
bool in_stock[PARCELS + 1];   /* memory that anybody may take for a parcel */
byte taken[2 * BLOCKS + 1];   /* by block: how often it arrived */
byte senders = 2;
byte arrived = 0;

inline take_memory(p) {       /* any free one; waits when there is none */
  atomic {
    if
    :: in_stock[1] -> p = 1; in_stock[1] = false
    :: in_stock[2] -> p = 2; in_stock[2] = false
    fi
  }
}

inline arrive(block) {
  atomic {
    assert(block != 0);
    taken[block]++;
    assert(taken[block] == 1);
    arrived++;
    block = 0
  }
}

proctype sender(byte first) {
  byte p, seen;
  byte block = first;
  do
  :: block < first + BLOCKS ->
     take_memory(p);
     content[p] = block;
     block++;
     seen = head;
     do                       /* compare_exchange_weak until it succeeds */
     :: next[p] = seen;
        atomic {
          if
          :: head == seen -> head = p; break
          :: else -> seen = head
          fi
        }
     od
  :: else -> break
  od;
  senders--
}

proctype collector() {
  byte sent, following, block;
  do
  :: atomic { head != NONE ->
#ifndef POP_ONE
       sent = head; head = NONE }
#else
       sent = head }
     following = next[sent];
     atomic {
       if
       :: head == sent -> head = following
       :: else -> goto again
       fi
     }
     next[sent] = NONE;
#endif
     do
     :: sent != NONE ->
        block = content[sent];
#ifndef LINK_LATE
        following = next[sent];
#endif
        in_stock[sent] = true;
#ifdef LINK_LATE
        following = next[sent];
#endif
        arrive(block);
        sent = following
     :: else -> break
     od;
#ifdef POP_ONE
again: skip
#endif
  :: atomic { senders == 0 && head == NONE -> break }
  od
}

init {
  atomic {
    in_stock[1] = true;
    in_stock[2] = true;
    run sender(1);
    run sender(1 + BLOCKS);
    run collector();
    run collector()
  }
  (_nr_pr == 1);
  assert(arrived == 2 * BLOCKS);
  assert(in_stock[1] && in_stock[2])
}
