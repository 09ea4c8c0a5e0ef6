/* Two threads free one block of a hardened heap at about the same time: its owner and another one, or two others. The
 * owner reads the mark, and stores its own; the others exchange it. The owner also takes in what was sent, and hands
 * blocks out again. With OTHERS both frees come from threads that are not the owner, and travel apart.
 * Claims: no block has two users; none is in use and free at once, so that its slab could go; once everything has
 * arrived, the second free is named. Not claimed where the second free marks the block after it is in use again: it
 * looks like a free by the new user.
 *
 * Stands for mark_remotely (src/memory/heap/free_mark.hpp), deallocate and finished
 * (src/memory/drop_in/hardening.cpp), heap::check_remote_marks (src/memory/heap/remote.cpp). Each statement is one
 * atomic operation. A fault ends the process: `named`.
 *
 * Mutants: STORE reads and stores the mark instead of exchanging it; ONE_MARK gives both frees the same mark; TAKE_BLIND
 * takes in what was sent without a look at its mark. */

#define NO_MARK 0
#define OWNERS 1
#ifdef ONE_MARK
#define REMOTE OWNERS
#else
#define REMOTE 2
#endif

byte mark = NO_MARK;
byte available = 0;               /* so often the block is in the owner's magazines or slabs */
byte sent = 0;
byte users = 0;
byte frees = 2;                   /* that have not ended */
bool named = false;
bool late = false;

proctype other() {
  byte before;
#ifdef STORE
  atomic { before = mark; late = users > 0 };
  if
  :: before == NO_MARK -> mark = REMOTE
  :: else -> skip
  fi;
#else
  atomic {
    before = mark;
    late = users > 0;
    if
    :: late -> skip
    :: else -> mark = REMOTE
    fi
  };
#endif
  atomic {
    if
    :: late -> skip
    :: !late && before != NO_MARK -> named = true
    :: !late && before == NO_MARK -> sent++
    fi;
    frees--
  }
}

inline free_own() {
  seen = mark;
  if
  :: seen != NO_MARK -> named = true
  :: else -> mark = OWNERS; available++
  fi;
  atomic { seen = NO_MARK; frees-- }
}

proctype owner() {
  byte seen;
#ifndef OTHERS
  free_own();
#endif
  do
  :: named || late -> break
  :: atomic { !named && available > 0 -> available-- };
     atomic {
       if
       :: mark != OWNERS -> named = true
       :: else -> mark = NO_MARK; users++; assert(users == 1 && available == 0)
       fi
     }
  :: atomic { !named && sent > 0 -> sent-- };
#ifdef TAKE_BLIND
     mark = OWNERS;
#else
     seen = mark;
     if
     :: seen != REMOTE -> named = true
     :: else -> mark = OWNERS
     fi;
#endif
     available++
  :: atomic { !named && frees == 0 && sent == 0 && available == 0 -> assert(late) }
  od
}

init {
  atomic {
    run owner();
    run other();
#ifdef OTHERS
    run other()
#endif
  }
}
