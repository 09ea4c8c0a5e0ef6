/* A fork in a signal handler, in a program of one thread, beside the helper that gives memory back.
 * Claims: no fork waits for a helper that waits for the interrupted thread; at the moment of the fork the helper is not
 * in the middle of a change, and holds no lock that the child does not open; a fork handler may allocate where the
 * thread was not interrupted.
 *
 * Stands for helper_locks (src/platform/helper_locks.hpp), with prepare_fork, finish_fork_in_parent and visit of
 * src/memory/thread/idle_purge.cpp, and open_locks_of_lost_helper of src/memory/thread/fork.cpp.
 *
 * Here a fork waits without a limit, so a fork that would last until the limit of the code is an invalid end state.
 * OUTER is the lock of a space; INNER is one that is taken under it, such as that of the metadata. Two signals arrive
 * at any point of the thread, the second one perhaps while the handler of the first forks. The thread also forks by
 * itself, with a fork handler that allocates.
 *
 * Mutants: TRUST_AWAITED does not ask whether the lock is taken; LOOK_ONCE reads `awaited` only before that; CLEAR_LATE
 * has the helper clear `awaited` when it has the lock; ANNOUNCE_EARLY has it announce each lock before the first
 * attempt, too, and clear late; NO_WAKE leaves the wake-up to the unlock, which a signal may have interrupted; SILENT
 * never announces, INNER_SILENT not where it waits for the inner lock; INNER_EARLY takes that in the middle of a change;
 * OUTER_HELD does not open the outer one in the child; VISIT_BLIND does not read `forks`; FORK_LATE counts the fork
 * after the look at the helper. */

#define OUTER 0
#define INNER 1
#define LOCKS 2
#define NONE LOCKS

#define THREAD 1
#define HELPER 2

byte holder[LOCKS];           /* 0: nobody */
byte awaited = NONE;
bool is_visiting = false;
byte forks = 0;
byte asleep_at = NONE;        /* the lock whose unlock wakes the helper */
bool is_changing = false;     /* the helper is in the middle of a change */

byte running = 0;             /* the handler that runs on the thread; 0: none */

/* ------------------------------------------------------------- the helper */

inline try_take(which) {
  atomic {
    if
    :: holder[which] == 0 -> holder[which] = HELPER; has_lock = true
    :: else -> has_lock = false
    fi
  }
}

inline announce(which) {
#ifndef SILENT
#ifdef INNER_SILENT
  if
  :: which == INNER -> skip
  :: else -> awaited = which
  fi
#else
  awaited = which
#endif
#else
  skip
#endif
}

inline lock_by_helper(which) {
#ifdef ANNOUNCE_EARLY
  announce(which);
#endif
  do
  :: try_take(which);
     if
     :: has_lock -> break
     :: else -> skip
     fi;
     announce(which);
     atomic {
       if
       :: holder[which] != 0 -> asleep_at = which
       :: else -> skip
       fi
     };
     if
     :: asleep_at == NONE -> skip
     :: !has_woken -> has_woken = true; asleep_at = NONE  /* a wait may end for no reason; once is enough */
     fi;
#if !defined(CLEAR_LATE) && !defined(ANNOUNCE_EARLY)
     awaited = NONE
#endif
  od;
#if defined(CLEAR_LATE) || defined(ANNOUNCE_EARLY)
  awaited = NONE
#endif
}

inline change() { is_changing = true; is_changing = false }

proctype helper() {
  byte visits;
  bool has_lock, has_woken;
  do
  :: visits < 2 ->
     visits++;
     is_visiting = true;
     if
#ifdef VISIT_BLIND
     :: true ->
#else
     :: forks != 0 -> skip
     :: forks == 0 ->
#endif
        lock_by_helper(OUTER);
#ifdef INNER_EARLY
        is_changing = true;
        lock_by_helper(INNER);
        is_changing = false;
#else
        change();
        lock_by_helper(INNER);
        change();
#endif
        holder[INNER] = 0;
        holder[OUTER] = 0
     fi;
     is_visiting = false
  :: else -> break
  od
}

/* ------------------------------------------------------------- the thread */

inline lock(which) { atomic { holder[which] == 0 -> holder[which] = THREAD } }
inline wake(which) {
  atomic {
    if
    :: asleep_at == which -> asleep_at = NONE
    :: else -> skip
    fi
  }
}
inline unlock(which) { holder[which] = 0; wake(which) }

/* Locks are taken by rising rank; a call on another space needs the inner one alone. */
inline allocate() {
  if
  :: true -> lock(OUTER); lock(INNER); unlock(INNER); unlock(OUTER)
  :: true -> lock(INNER); unlock(INNER)
  fi
}

/* helper_locks::waits_for_caller. */
inline ask_helper() {
  seen = awaited;
  if
  :: seen == NONE -> may_fork = false
  :: else ->
#ifdef TRUST_AWAITED
     may_fork = true
#else
     may_fork = (holder[seen] != 0);
#ifndef LOOK_ONCE
     if
     :: may_fork -> may_fork = (awaited == seen)
#ifdef NO_WAKE
     :: else -> skip
#else
     :: else -> wake(seen)
#endif
     fi
#endif
#endif
  fi;
  seen = NONE
}

/* `allocates`: a fork handler of the program runs after prepare_fork. */
inline fork_beside_helper(allocates) {
#ifndef FORK_LATE
  forks++;
#endif
  if
  :: !is_visiting -> skip
  :: is_visiting ->
     do
     :: ask_helper();
        if
        :: may_fork -> break
        :: else -> skip
        fi;
        if                    /* a sleep, which ends when the next look may find something else */
        :: !is_visiting -> break
        :: is_visiting && awaited != NONE && holder[awaited] == THREAD -> skip
        fi
     od
  fi;
#ifdef FORK_LATE
  forks++;
#endif
  if
  :: allocates -> allocate()
  :: else -> skip
  fi;
  atomic {                    /* fork() */
    assert(!is_changing);
    assert(is_visiting || (holder[OUTER] != HELPER && holder[INNER] != HELPER));
    assert(holder[INNER] != HELPER);  /* the child does not open it */
#ifdef OUTER_HELD
    assert(holder[OUTER] != HELPER);
#endif
    may_fork = false
  };
  forks--
}

proctype thread() provided (running == 0) {
  bool may_fork;
  byte seen = NONE;
  allocate();
  fork_beside_helper(true);
  allocate()
}

/* --------------------------------------------------------- signal handlers */

byte interrupted[3];          /* what a handler returns to */

inline handle(number) {
  fork_beside_helper(false);
  running = interrupted[number]
}

proctype first_handler() provided (running == 1) {
  bool may_fork;
  byte seen = NONE;
  handle(1)
}

proctype second_handler() provided (running == 2) {
  bool may_fork;
  byte seen = NONE;
  handle(2)
}

/* Each signal interrupts whatever runs on the thread, or nothing where that has ended. */
proctype signals() {
  atomic { interrupted[1] = running; running = 1 };
  atomic { interrupted[2] = running; running = 2 }
}

init {
  atomic {
    run helper();
    run thread();
    run first_handler();
    run second_handler();
    run signals()
  }
}
