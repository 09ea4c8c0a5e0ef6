/* The growth of a lock-free pool: threads install a chunk and count it, and one of them may stop at any point for ever.
 * Claims: the others finish; only a chunk that is installed and linked is counted; the count never falls.
 *
 * Stands for lock_free_store::grow and lock_free_store::install (src/memory/pools/lock_free_pool.cpp). Each statement
 * is one atomic operation, in sequentially consistent order.
 *
 * Mutants: WAIT lets a thread that finds a chunk installed wait until it is counted; STORE counts by a store;
 * LINK_LATE links a chunk after it was counted. */

#define CHUNKS 2
#define USERS 2               /* that never stop; one more may */

byte count = 0;
bool installed[CHUNKS];
bool linked[CHUNKS];

inline maybe_stop() {
  if
  :: may_stop -> goto stopped
  :: true -> skip
  fi
}

inline grow() {
  atomic {
    seen = count;
    assert(seen == 0 || linked[seen - 1])
  };
  if
  :: seen == CHUNKS -> break
  :: else -> skip
  fi;
  maybe_stop();
  atomic {
    is_mine = !installed[seen];
    installed[seen] = true
  };
  maybe_stop();
#ifdef WAIT
  if
  :: !is_mine -> (count != seen)
  :: else -> skip
  fi;
#endif
#ifndef LINK_LATE
  linked[seen] = true;
#endif
  maybe_stop();
#ifdef STORE
  atomic {
    assert(count <= seen + 1);
    count = seen + 1
  };
#else
  atomic {
    if
    :: count == seen -> count = seen + 1
    :: else -> skip
    fi
  };
#endif
  maybe_stop();
#ifdef LINK_LATE
  linked[seen] = true
#endif
}

proctype user(bool may_stop) {
  byte seen;
  bool is_mine;
  do
  :: grow()
  od;
stopped:
  skip
}

init {
  byte number;
  atomic {
    run user(true);
    number = 0;
    do
    :: number < USERS -> run user(false); number++
    :: else -> break
    od
  }
  (_nr_pr == 1);
  assert(count == CHUNKS)
}
