/* Coroutines that wait for an async_shared, one of which is cancelled (include/tarn/detail/async_lock.hpp).
 * Claims: one coroutine has the lock at a time; each is resumed at most once for each wait; nobody waits for ever, and a
 * wait that was cancelled ends although the lock is not opened.
 *
 * Stands for async_lock: wait, cancel, hand_on, under its spin lock (here: atomic), and what async_shared does between
 * them. The holder opens the lock at any time, or, once the wait was cancelled, never.
 *
 * Mutants: NO_IDLE does not remember a cancellation that comes before the wait; CANCEL_BLIND resumes whoever it is told
 * to, whatever his state; OPEN_FIRST opens the lock for everybody instead of handing it on; NO_LOOK waits without a look
 * whether the lock is open. */

#define IDLE 0
#define WAITING 1
#define HAS_LOCK 2
#define CANCELLED 3
#define COROUTINES 2          /* 0 may be cancelled */
#define NOBODY 9

byte state[COROUTINES];
byte resumed[COROUTINES];     /* wakes that are not taken yet */
bool ended[COROUTINES];
bool is_locked = true;        /* by somebody who is not modelled further */
bool keeps = false;           /* he does not open it any more */
byte first = NOBODY, second = NOBODY;
byte inside = 1;

inline hand_on(next) {
  atomic {
    next = first;
    if
    :: next == NOBODY -> is_locked = false
    :: else ->
       first = second;
       second = NOBODY;
       state[next] = HAS_LOCK;
#ifdef OPEN_FIRST
       is_locked = false
#endif
    fi
  }
}

inline resume(who) {
  atomic { resumed[who]++; assert(resumed[who] == 1) }
}

proctype coroutine(byte who) {
  byte next;
  bool waits;
  atomic {
    if
    :: state[who] == CANCELLED -> waits = false
#ifndef NO_LOOK
    :: state[who] != CANCELLED && !is_locked -> is_locked = true; state[who] = HAS_LOCK; waits = false
#endif
    :: else ->
       state[who] = WAITING;
       if :: first == NOBODY -> first = who :: else -> second = who fi;
       waits = true
    fi
  }
  if
  :: waits ->
end_suspended:            /* for ever only where `init` says so */
     atomic { resumed[who] == 1 -> resumed[who] = 0 }
  :: else
  fi;
  if
  :: state[who] == HAS_LOCK ->
     atomic { inside++; assert(inside == 1) }
     inside--;
     hand_on(next);
     if :: next != NOBODY -> resume(next) :: else fi
  :: else
  fi;
  ended[who] = true
}

proctype canceller() {
  bool is_mine = false;
  atomic {
    if
#ifndef NO_IDLE
    :: state[0] == IDLE -> state[0] = CANCELLED
#endif
#ifdef CANCEL_BLIND
    :: state[0] != IDLE ->
#else
    :: state[0] == WAITING ->
#endif
       state[0] = CANCELLED;
       if :: first == 0 -> first = second; second = NOBODY :: second == 0 -> second = NOBODY :: else fi;
       is_mine = true
    :: else
    fi
  }
  if :: is_mine -> resume(0) :: else fi
}

proctype holder() {
  byte next;
  if
  :: keeps = true          /* then only the one who is cancelled ends */
  :: inside--;
     hand_on(next);
     if :: next != NOBODY -> resume(next) :: else fi
  fi
}

init {
  atomic { run coroutine(0); run coroutine(1); run canceller(); run holder() }
  /* When nobody can go on. */
  timeout;
  assert(ended[0]);
  assert(keeps || ended[1]);
  assert(keeps || !is_locked);
  assert(resumed[0] == 0 && (keeps || resumed[1] == 0));   /* nobody is resumed after his end */
}
