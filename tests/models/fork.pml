/* The locks of the allocator: who takes which while holding which, and a fork that takes them all.
 * Claims: no deadlock; at the moment of the fork no other thread holds a lock or has half done what one guards.
 *
 * Stands for prepare_fork() in src/memory/thread/fork.cpp against every nesting in the code: `owner_scope` in src/memory/thread/paths.cpp,
 * registry::acquire, create, destroy and for_idle (src/memory/heap/registry.*) with what heap::adopt_slab and heap::reset
 * do under it, src/memory/heap/spaces.cpp, src/memory/pages/space.cpp (with the page map, and the records of single mappings
 * whose lock is taken nowhere else), magazine_stock (src/memory/heap/magazine.cpp), src/memory/pages/metadata.cpp.
 *
 * A forker may have a fork handler from before the engine's: it runs while all locks are held, and may take any of
 * them again (platform::mutex::lock_for_fork).
 *
 * The C library's streams: fork() takes the lock of their list after all handlers, a flush of all streams waits for a
 * stream under it, and a stream's lock is held while getline allocates.
 *
 * Mutants: LIST_LATE leaves the lock of the list to the C library; HELD_ONCE does not let it lock again; SPACES_OPEN does not hold the lock of the list of spaces; PROCESS_LATE takes the process heap after the
 * registry; PAGE_MAP_EARLY takes the page map before the spaces. */

#define PROCESS 0             /* the shared heap's */
#define REGISTRY 1
#define SPACES 2              /* the list of heap objects' spaces, and their records */
#define OBJECT 3              /* a space of a heap object */
#define CENTRAL 4             /* the space of all threads' heaps */
#define PAGE_MAP 5
#define SINGLES 6             /* records of single mappings */
#define MAGAZINES 7
#define METADATA 8
#define LIST 9                /* of the C library's streams; recursive */
#define STREAM 10
#define LOCKS 11

byte holder[LOCKS];           /* 0: nobody */
bool forking[LOCKS];          /* the holder forks */

#ifdef HELD_ONCE
inline lock(which) { atomic { holder[which] == 0 -> holder[which] = _pid } }
#else
inline lock(which) {
  atomic {
    if
    :: holder[which] == 0 -> holder[which] = _pid
    :: forking[which] && holder[which] == _pid
    fi
  }
}
#endif
inline unlock(which) {
  assert(holder[which] == _pid);
  if
  :: forking[which]
  :: else -> holder[which] = 0
  fi
}
inline lock_for_fork(which) { lock(which); forking[which] = true }
inline unlock_after_fork(which) { forking[which] = false; unlock(which) }
inline touch(which) { lock(which); unlock(which) }

/* A choice is made before the lock is asked for: `:: true ->` goes first, or spin would choose what is free. */

/* What allocating from a space, or giving back to it, takes in turn. */
inline use_space(which) {
  lock(which);
  if
  :: true -> touch(PAGE_MAP)
  :: true -> touch(SINGLES); touch(METADATA)
  :: true -> touch(SINGLES)
  :: skip
  fi;
  unlock(which)
}

/* The slow path of a thread's heap; `use_idle` is adopt_slab or acquire. */
inline use_idle() {
  lock(REGISTRY);
  if
  :: true -> use_space(CENTRAL); touch(MAGAZINES)
  :: true -> touch(METADATA)
  fi;
  unlock(REGISTRY)
}

inline use_heap() {
  if
  :: true -> use_idle()
  :: true -> use_space(CENTRAL)
  :: true -> touch(MAGAZINES)
  :: true -> touch(METADATA)
  fi
}

inline use_object() {
  if
  :: true -> lock(SPACES); touch(METADATA); unlock(SPACES)       /* a new one */
  :: true -> use_space(OBJECT); touch(MAGAZINES)
  :: true -> lock(REGISTRY); use_space(CENTRAL); touch(MAGAZINES); unlock(REGISTRY)  /* destroyed: sends its batch */
  fi
}

proctype worker() {
  if
  :: true -> lock(PROCESS); use_heap(); unlock(PROCESS)
  :: true -> use_heap()
  :: true -> use_object()
  :: true -> lock(STREAM); use_heap(); unlock(STREAM)             /* getline */
  :: true -> lock(LIST); touch(STREAM); unlock(LIST)              /* fflush(NULL) */
  fi
}

proctype forker() {
  byte which;
#ifndef LIST_LATE
  lock_for_fork(LIST);
#endif
#ifdef PROCESS_LATE
  lock_for_fork(REGISTRY);
  lock_for_fork(PROCESS);
#else
  lock_for_fork(PROCESS);
  lock_for_fork(REGISTRY);
#endif
#ifndef SPACES_OPEN
  lock_for_fork(SPACES);
#endif
#ifdef PAGE_MAP_EARLY
  lock_for_fork(PAGE_MAP);
#endif
  lock_for_fork(OBJECT);
  lock_for_fork(CENTRAL);
#ifndef PAGE_MAP_EARLY
  lock_for_fork(PAGE_MAP);
#endif
  lock_for_fork(MAGAZINES);
  lock_for_fork(METADATA);
  if                          /* a handler from before */
  :: true -> lock(PROCESS); use_heap(); unlock(PROCESS)
  :: true -> use_object()
  :: skip
  fi;
  lock_for_fork(LIST);        /* the C library's own */
  atomic {                    /* fork() */
    do
    :: which < STREAM -> assert(holder[which] == 0 || holder[which] == _pid); which++
    :: else -> break
    od
  };
  unlock_after_fork(METADATA);
  unlock_after_fork(MAGAZINES);
  unlock_after_fork(PAGE_MAP);
  unlock_after_fork(CENTRAL);
  unlock_after_fork(OBJECT);
#ifndef SPACES_OPEN
  unlock_after_fork(SPACES);
#endif
  unlock_after_fork(REGISTRY);
  unlock_after_fork(PROCESS);
  unlock_after_fork(LIST)
}

init {
  atomic {
    run worker();
    run worker();
    run forker();
    run forker()
  }
}
