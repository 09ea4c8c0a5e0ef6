/* The readers of a memo and the freeing of what they may read (epochs and a barrier in all threads).
 * Claim: no reader uses a node that was freed. And: what was unlinked can be freed once nobody reads.
 *
 * Stands for read_section (include/tarn/detail/read_section.hpp), end_node_epoch and nobody_reads_before
 * (src/io/read_section.cpp), memo::free_unread (include/tarn/io/memo.hpp). The reader's store of its epoch is late: it
 * lies in a buffer until the system writes it, at any time, or the writer's barrier does. All else is in order.
 *
 * Mutants: NO_BARRIER looks at the places without the barrier; EQUAL frees what a reader of the ended epoch may have, by
 * taking its epoch for the new one; UNLINK_LATE unlinks after the barrier. */

#define READERS 2
#define NODES 3               /* 0 is in the table first; the writer puts 1, then 2 in its place */

byte linked = 0;              /* the node that the table shows */
bool alive[NODES];
byte epoch = 1;
byte place[READERS];          /* what the writer sees; 0: reads nothing */
byte buffer[READERS];         /* a store that is on its way; 0: none */

inline arrive(who) {          /* of the buffered store, if there is one */
  if
  :: buffer[who] != 0 -> place[who] = buffer[who]; buffer[who] = 0
  :: else
  fi
}

proctype reader(byte who) {
  byte now, node, turn = 0;
  do
  :: turn == 2 -> break
  :: else ->
     now = epoch;
     buffer[who] = now;
     node = linked;
     assert(alive[node]);     /* reads the key */
     assert(alive[node]);     /* copies the value */
     /* The place is emptied by a store, too, behind the first one in the buffer. */
     atomic { arrive(who); place[who] = 0 };
     turn++
  od
}

/* The system writes a buffered store whenever it likes. */
proctype system_() {
  do
  :: atomic { buffer[0] != 0 -> arrive(0) }
  :: atomic { buffer[1] != 0 -> arrive(1) }
  :: timeout -> break
  od
}

inline barrier() {
#ifndef NO_BARRIER
  atomic { arrive(0); arrive(1) }
#else
  skip
#endif
}

proctype writer() {
  byte next = 1, old, ended;
  bool may_free, waits[NODES];
  byte each;
  do
  :: next == NODES -> break
  :: else ->
     old = linked;
#ifndef UNLINK_LATE
     linked = next;
#endif
     waits[old] = true;
#ifdef EQUAL
     epoch++;
     ended = epoch - 1;
#else
     epoch++;
     ended = epoch;
#endif
     barrier();
#ifdef UNLINK_LATE
     linked = next;
#endif
     may_free = true;
     if :: place[0] != 0 && place[0] < ended -> may_free = false :: else fi;
     if :: place[1] != 0 && place[1] < ended -> may_free = false :: else fi;
     if
     :: may_free ->           /* this one and those that had to wait */
        each = 0;
        do
        :: each == NODES -> break
        :: else ->
           if :: waits[each] -> alive[each] = false; waits[each] = false :: else fi;
           each++
        od
     :: else
     fi;
     next++
  od
}

init {
  atomic {
    alive[0] = true; alive[1] = true; alive[2] = true;
    run reader(0); run reader(1); run system_(); run writer()
  }
}
