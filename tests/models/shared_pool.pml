/* Shared pools: a thread keeps free blocks of a pool in its seat, and returns them when it ends; meanwhile the pool may
 * have ended, and another have come into being with the same seat number, at the same address.
 * Claims: a block never goes to a pool that it is not from, or that is no more; when the threads have ended, the pool
 * that there is has all its blocks.
 *
 * Stands for shared_pools::seat_in, give_back, add and remove (src/memory/pools/shared_pool.cpp). A pool ends while nobody is
 * in a call of it, as its users promise; the end of a thread is no such call. Each statement is one step.
 *
 * Mutants: ID_UNASKED takes what is in the seat for blocks of this pool; END_UNASKED returns them to whatever pool has
 * the seat; END_UNLOCKED looks for the pool without the list's lock. */

#define USERS 2
#define LIVES 2               /* pools, one after the other */
#define BLOCKS 2              /* of each */
#define CALLS 2               /* of each user */

byte listed = 0;              /* id of the pool that there is; 0: none */
byte last_id = 0;
bool list_lock = false;
bool depot_lock = false;
byte depot[LIVES + 1];        /* free blocks in it, by id */
byte in_calls = 0;
byte ended = 0;

inline lock(which) { atomic { !which -> which = true } }
inline unlock(which) { which = false }

proctype user() {
  byte seat_id = 0;           /* what the seat says */
  byte from = 0;              /* the pool that the blocks in it are from; nobody can see that */
  byte kept = 0;
  byte calls = 0;
  byte pool = 0;

  do
  :: calls < CALLS ->
     calls++;
     if
     :: atomic { listed != 0 -> in_calls++; pool = listed };
#ifndef ID_UNASKED
        if
        :: seat_id != pool -> seat_id = pool; kept = 0   /* what was there is void with its pool */
        :: else -> skip
        fi;
#else
        seat_id = pool;
#endif
        if
        :: kept == 0 ->
           lock(depot_lock);
           if
           :: depot[pool] > 0 -> atomic { depot[pool]--; kept = 1; from = pool }
           :: else -> skip
           fi;
           unlock(depot_lock)
        :: else -> skip
        fi;
        if
        :: kept > 0 -> assert(from == pool)              /* handed out, and freed again */
        :: else -> skip
        fi;
        in_calls--
     :: skip
     fi
  :: else -> break
  od;

  /* The thread ends. */
#ifndef END_UNLOCKED
  lock(list_lock);
#endif
#ifdef END_UNASKED
  pool = listed;
#else
  pool = (listed == seat_id -> seat_id : 0);
#endif
  if
  :: pool != 0 && kept > 0 ->
     lock(depot_lock);
     assert(pool == listed && from == pool);
     depot[pool] = depot[pool] + kept;
     unlock(depot_lock)
  :: else -> skip
  fi;
#ifndef END_UNLOCKED
  unlock(list_lock);
#endif
  ended++
}

active proctype owner() {
  byte lives = 0;
  atomic { run user(); run user() };
  do
  :: lives < LIVES ->
     lives++;
     lock(list_lock);
     atomic { last_id++; depot[last_id] = BLOCKS; listed = last_id };
     unlock(list_lock);
     if
     :: lives < LIVES ->
        lock(list_lock);
        atomic { in_calls == 0 -> listed = 0 };
        unlock(list_lock)
     :: else -> break
     fi
  od;
  ended == USERS;
  assert(depot[listed] == BLOCKS)
}
