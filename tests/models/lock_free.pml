/* The stack of a lock-free pool: threads pop two blocks each and push them back.
 * Claims: no block is with two threads; when all is quiet, all blocks are on the stack, once.
 *
 * Stands for lock_free_pool::pop and lock_free_pool::push (include/tarn/lock_free_pool.hpp). Top and tag are one word;
 * each statement is one atomic operation, in sequentially consistent order.
 *
 * Mutants: NO_TAG compares the top alone; LINK_LATE links a block after it was pushed. */

#define BLOCKS 3
#define USERS 2
#define TAGS 16               /* more than the pops that can happen while one thread waits */

byte top = 1;                 /* number of a block, 0: empty */
byte tag = 0;
byte link[BLOCKS + 1];
byte held[BLOCKS + 1];

#ifdef NO_TAG
#define UNCHANGED (top == seen)
#else
#define UNCHANGED (top == seen && tag == seen_tag)
#endif

inline pop(block) {
  block = 0;
  do
  :: atomic { seen = top; seen_tag = tag };
     if
     :: seen == 0 -> break
     :: else -> skip
     fi;
     follow = link[seen];
     atomic {
       if
       :: UNCHANGED ->
          top = follow;
          tag = (tag + 1) % TAGS;
          block = seen;
          assert(held[block] == 0);
          held[block] = 1
       :: else -> skip
       fi
     };
     if
     :: block != 0 -> break
     :: else -> skip
     fi
  od
}

inline push(block) {
  held[block] = 0;
  pushed = false;
  do
  :: pushed -> break
  :: else ->
     atomic { seen = top; seen_tag = tag };
#ifndef LINK_LATE
     link[block] = seen;
#endif
     atomic {
       if
       :: UNCHANGED -> top = block; pushed = true
       :: else -> skip
       fi
     };
#ifdef LINK_LATE
     if
     :: pushed -> link[block] = seen
     :: else -> skip
     fi
#endif
  od
}

proctype user() {
  byte first, second, seen, seen_tag, follow;
  bool pushed;
  pop(first);
  pop(second);
  if
  :: first != 0 -> push(first)
  :: else -> skip
  fi;
  if
  :: second != 0 -> push(second)
  :: else -> skip
  fi
}

init {
  byte count, at, number;
  atomic {
    number = 1;
    do
    :: number < BLOCKS -> link[number] = number + 1; number++
    :: else -> break
    od;
    link[BLOCKS] = 0;
    count = 0;
    do
    :: count < USERS -> run user(); count++
    :: else -> break
    od
  }
  (_nr_pr == 1);
  count = 0;
  at = top;
  do
  :: at != 0 && count <= BLOCKS -> at = link[at]; count++
  :: else -> break
  od;
  assert(count == BLOCKS)
}
