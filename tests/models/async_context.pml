/* A handler of Asio that waits for an async_shared, while its execution context may end (include/tarn/asio/async_lock.hpp).
 * Claims: nobody posts to a context that is gone; the handler runs or is destroyed, once; the lock is not lost: who waits
 * behind the handler gets it, whatever becomes of the context.
 *
 * Stands for context_waits: begin_post, end_post, end, under their mutex (here: atomic), lock_wait: finish, leave, and
 * what Asio does when a context ends: first the service, then the functions that were posted, then the context itself.
 * The thread of the context runs what was posted, or ends the context, at any time. Another thread releases the lock,
 * and a third one may cancel the wait. The second waiter is a coroutine that is resumed at once.
 *
 * Mutants: POST_BLIND posts without a look at the list; END_EARLY does not wait for those who post; KEEP_LOCK lets the
 * lock with a handler whose context has ended; LOSE_POSTED does not release the lock when a posted function is
 * destroyed. */

#define WAITING 1
#define HAS_LOCK 2
#define CANCELLED 3

byte state = WAITING;         /* of the handler's wait, which is the first in the list of the lock */
bool second_waits = true;     /* the second one in that list */
bool second_has_lock = false;
bool is_locked = true;
bool is_listed = true;        /* in the list of the context */
byte posts = 0;               /* threads that are posting */
bool is_posted = false;
bool is_gone = false;         /* the context */
byte ends = 0;                /* of the handler: it ran, or was destroyed */

/* async_lock::hand_on. `got_first` says that the handler's wait got the lock, and is to be finished. */
inline hand_on(got_first) {
  atomic {
    got_first = false;
    if
    :: state == WAITING -> state = HAS_LOCK; got_first = true
    :: state != WAITING && second_waits -> second_waits = false; second_has_lock = true
    :: else -> is_locked = false
    fi
  }
}

inline finish(is_mine, ignored) {
  atomic {
#ifdef POST_BLIND
    is_mine = true;
#else
    is_mine = is_listed;
#endif
    is_listed = false;
    if :: is_mine -> posts++ :: else fi
  }
  if
  :: is_mine ->
     atomic { assert(!is_gone); is_posted = true };
     posts--
#ifndef KEEP_LOCK
  :: !is_mine && state == HAS_LOCK -> hand_on(ignored)
#endif
  :: else
  fi
}

proctype holder() {
  bool got_first, is_mine, ignored;
  hand_on(got_first);
  if :: got_first -> finish(is_mine, ignored) :: else fi
}

proctype canceller() {
  bool is_mine, ignored;
  if
  :: atomic { state == WAITING -> state = CANCELLED }; finish(is_mine, ignored)
  :: true
  fi
}

proctype context() {
  bool was_listed, ignored;
  if
  :: atomic { is_posted -> is_posted = false; ends++ };      /* the handler runs, and ends with the lock's handle */
     if :: state == HAS_LOCK -> hand_on(ignored) :: else fi
  :: atomic { was_listed = is_listed; is_listed = false };   /* context_waits::end */
#ifndef END_EARLY
     posts == 0;
#endif
     if
     :: was_listed ->
        atomic { if :: state == WAITING -> state = CANCELLED :: else fi };   /* leave */
        ends++                                                               /* drop */
     :: else
     fi;
     if                                                      /* what was posted is destroyed */
     :: is_posted ->
        is_posted = false;
        ends++;
#ifndef LOSE_POSTED
        if :: state == HAS_LOCK -> hand_on(ignored) :: else fi
#endif
     :: else
     fi;
     is_gone = true
  fi
}

init {
  atomic { run holder(); run canceller(); run context() }
  timeout;                                                   /* when nobody can go on */
  assert(ends == 1);
  assert(second_has_lock);
  assert(posts == 0 && !is_posted && !is_listed)
}
