/* Bits of remotely freed blocks, the words in which they are announced, and the inbox of slabs. The owner takes the
 * bits back; somebody who acts for it while it sleeps gives slabs back whose blocks all wait. With BATCHES one block
 * travels in a batch, which goes through the same inbox; whoever acts for the owner sets the bits of its blocks.
 * Claims: each block arrives once; nothing is left behind; no slab is in an inbox twice; nobody touches a slab that
 * was given back.
 *
 * Stands for remote_frees::free_remotely and remote_frees::take_remote (src/memory/pages/remote_frees.hpp), inbox::post and
 * inbox::take_all (src/memory/heap/inbox.hpp), heap::receive and heap::take_inbox (src/memory/heap/remote.cpp), heap::reclaim_for_owner
 * (src/memory/heap/without_owner.cpp), heap::hand_over, heap::receive_batch and heap::unpack (src/memory/heap/remote_batch.cpp).
 * Each statement is one atomic operation.
 *
 * Mutants: WORDS_FIRST takes the words before the announcements; ANNOUNCE_FIRST announces a word before its bits are
 * set; LINK_LATE reads a slab's link after its announcements are taken; LOOK_AFTER looks at the slab after setting a
 * bit in a word that had one; POST_ALWAYS posts a slab whenever a word is announced; RECLAIM_LOOSE gives a slab back of
 * which a block is still in use; COUNT_ALONE gives a slab back although a sender has still to announce a word; RECLAIM_LOSES forgets the slabs that it does not give back; UNPACK_LOSES
 * forgets a slab that is announced by the bits of a batch; UNPACK_BLIND lists a slab although it was announced. */

#if defined(UNPACK_LOSES) || defined(UNPACK_BLIND)
#define BATCHES
#endif

#define SLABS 2
#define WORDS 2
#define BATCH SLABS               /* the node of a batch: it has block 1 of slab 0, word 1 */
#define NONE 3

byte head = NONE;
byte link[3];
byte announced[SLABS];            /* a bit for each word */
byte word[4];                     /* slab * WORDS + word: a bit for each block */
byte arrived[4];                  /* the same for blocks that are free in the slab again */
byte all[4];                      /* the blocks there are */
bool alive[3];
bool posted[3];
byte busy = 0;                    /* senders and reclaimers */

inline touch(s) { assert(alive[s]) }

inline post(s) {                  /* compare_exchange_weak until it succeeds */
  atomic { touch(s); assert(!posted[s]); seen = head; link[s] = seen };
  do
  :: atomic {
       if
       :: head == seen -> head = s; posted[s] = true; break
       :: else -> touch(s); seen = head; link[s] = seen
       fi
     }
  od
}

proctype sender(byte s; byte w; byte block) {
  byte before, words, seen;
#ifdef ANNOUNCE_FIRST
  atomic { touch(s); words = announced[s]; announced[s] = words | (1 << w) };
  atomic { touch(s); word[s * WORDS + w] = word[s * WORDS + w] | (1 << block) };
  if
  :: words == 0 -> post(s)
  :: else -> skip
  fi;
#else
  atomic {
    touch(s);
    before = word[s * WORDS + w];
    assert((before & (1 << block)) == 0);
    word[s * WORDS + w] = before | (1 << block)
  };
  if
  :: before != 0 ->
#ifdef LOOK_AFTER
     touch(s)
#else
     skip
#endif
  :: else ->
     atomic { touch(s); words = announced[s]; announced[s] = words | (1 << w) };
#ifdef POST_ALWAYS
     words = 0;
#endif
     if
     :: words == 0 -> post(s)
     :: else -> skip
     fi
  fi;
#endif
  busy--
}

proctype batch_sender() {
  byte seen;
  post(BATCH);
  busy--
}

inline take_word(s, w) {
  atomic {
    freed = word[s * WORDS + w];
    word[s * WORDS + w] = 0;
    assert((arrived[s * WORDS + w] & freed) == 0);
    arrived[s * WORDS + w] = arrived[s * WORDS + w] | freed;
    freed = 0
  }
}

inline take_remote(s) {
#ifdef WORDS_FIRST
  take_word(s, 0);
  take_word(s, 1);
  atomic { announced[s] = 0 };
#else
  atomic { words = announced[s]; announced[s] = 0 };
  if
  :: words & 1 -> take_word(s, 0)
  :: else -> skip
  fi;
  if
  :: words & 2 -> take_word(s, 1)
  :: else -> skip
  fi;
#endif
  words = 0
}

inline give_back_if_empty(s) {
  atomic {
    if
    :: arrived[s * WORDS] == all[s * WORDS] && arrived[s * WORDS + 1] == all[s * WORDS + 1] -> alive[s] = false
    :: else -> skip
    fi
  }
}

proctype owner() {
  byte at = NONE, following = NONE, words, freed;
  do
  :: atomic { head != NONE -> at = head; head = NONE };
     do
     :: at == NONE -> break
     :: else ->
        atomic { touch(at); posted[at] = false };
#ifndef LINK_LATE
        following = link[at];
#endif
        if
        :: at == BATCH ->
           following = link[at];
           atomic { alive[at] = false; assert((arrived[1] & 2) == 0); arrived[1] = arrived[1] | 2 };
           give_back_if_empty(0)
        :: else ->
           take_remote(at);
#ifdef LINK_LATE
           following = link[at];
#endif
           give_back_if_empty(at)
        fi;
        at = following
     od
  :: atomic { busy == 0 && head == NONE -> break }
  od
}

/* Acts while the owner sleeps, or so it seems. */
proctype reclaimer() {
  byte at = NONE, following = NONE, list = NONE, words, freed, seen, before;
  bool whole;
  atomic { at = head; head = NONE };
  do
  :: at == NONE -> break
  :: else ->
     atomic { touch(at); posted[at] = false; following = link[at] };
     if
     :: at == BATCH ->
        alive[at] = false;
        atomic {
          touch(0);
          before = word[1];
          assert((before & 2) == 0);
          word[1] = before | 2
        };
        if
        :: before != 0 -> words = 1
        :: else -> atomic { touch(0); words = announced[0]; announced[0] = words | 2 }
        fi;
#ifdef UNPACK_BLIND
        words = 0;
#endif
#ifdef UNPACK_LOSES
        words = 1;
#endif
        if
        :: words == 0 -> link[0] = list; list = 0
        :: else -> skip
        fi
     :: else -> link[at] = list; list = at
     fi;
     at = following
  od;
  at = list;
  do
  :: at == NONE -> break
  :: else ->
     atomic { touch(at); following = link[at] };
#ifdef COUNT_ALONE
     whole = true;
#else
     whole = announced[at] == (at == 0 -> 3 : 1);
#endif
#ifndef RECLAIM_LOOSE
     whole = whole && word[at * WORDS] == all[at * WORDS];
#endif
     whole = whole && word[at * WORDS + 1] == all[at * WORDS + 1];
     if
     :: whole ->
        take_remote(at);
        alive[at] = false
     :: else ->
#ifndef RECLAIM_LOSES
        post(at)
#else
        skip
#endif
     fi;
     at = following
  od;
  busy--
}

init {
  atomic {
#ifdef BATCHES
    all[0] = 1;                   /* slab 0: one block in the first word, two in the second; slab 1: one */
    all[1] = 3;
    run batch_sender();
#else
    all[0] = 3;                   /* slab 0: two blocks in the first word, one in the second; slab 1: one */
    all[1] = 1;
    run sender(0, 0, 1);
#endif
    all[2] = 1;
    alive[0] = true;
    alive[1] = true;
    alive[BATCH] = true;
    busy = 5;
    run sender(0, 0, 0);
    run sender(0, 1, 0);
    run sender(1, 0, 0);
    run reclaimer();
    run owner()
  }
  (_nr_pr == 1);
  assert(arrived[0] == all[0] && arrived[1] == all[1] && arrived[2] == all[2]);
  assert(announced[0] == 0 && announced[1] == 0);
  assert(!alive[0] && !alive[1]);
#ifdef BATCHES
  assert(!alive[BATCH])
#endif
}
