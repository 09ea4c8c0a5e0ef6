/* A reloadable object: two readers, two versions at a time, one writer who publishes and frees.
 * Claims: no reader uses a version that was freed; when all is quiet, what was retired is freed.
 *
 * Stands for detail::pin_at and detail::unpin (include/tarn/detail/readers.hpp), versions::publish and
 * versions::take_unread (src/sync/versions.cpp). Each statement is one atomic operation; a reader's store into its place
 * waits in a buffer of that reader, as in a processor, and is visible to others when the buffer drains: at any later
 * moment, or by the writer's barrier in all threads. A reader sees its own stores. A freed version is used again for the
 * next one at once, so a place may name a version by an address of before (ABA).
 *
 * Mutants: NO_BARRIER leaves out membarrier; NO_SECOND_LOOK trusts the first load of the current version; LOOK_FIRST
 * looks at the places before it replaces the version; EMPTY_EARLY empties the place before the last use. */

#define READERS 2
#define READS 2
#define PUBLISHES 3
#define VERSIONS 3

byte current = 1;             /* address of a version, 0: none */
bool alive[VERSIONS + 1];
byte place[READERS];          /* as the writer sees it */
byte buffered[READERS];       /* a store that is on its way; NOTHING: none */
bool done[READERS];
#define NOTHING 9

proctype reader(byte me) {
  byte seen, still, count;
  count = 0;
  do
  :: count == READS -> break
  :: else ->
     seen = current;
     do
     :: atomic { buffered[me] == NOTHING -> buffered[me] = seen };   /* stores leave in order */
#ifdef NO_SECOND_LOOK
        still = seen;
#else
        still = current;
#endif
        if
        :: still == seen -> break
        :: else -> seen = still
        fi
     od;
#ifdef EMPTY_EARLY
     atomic { buffered[me] == NOTHING -> buffered[me] = 0 };
     assert(alive[seen]);
#else
     assert(alive[seen]);      /* used, from here */
     assert(alive[seen]);      /* to here */
     atomic { buffered[me] == NOTHING -> buffered[me] = 0 };
#endif
     count++
  od;
  done[me] = true
}

/* The processor of a reader lets a store out when it likes. */
proctype drain(byte me) {
  do
  :: atomic { buffered[me] != NOTHING -> place[me] = buffered[me]; buffered[me] = NOTHING }
  :: atomic { done[me] && buffered[me] == NOTHING -> break }
  od
}

inline barrier() {
#ifdef NO_BARRIER
  skip
#else
  at = 0;
  do
  :: at < READERS ->
     atomic {
       if
       :: buffered[at] != NOTHING -> place[at] = buffered[at]; buffered[at] = NOTHING
       :: else -> skip
       fi;
       at++
     }
  :: else -> break
  od
#endif
}

/* Frees what is retired and named by no place. The places are looked at one by one. */
inline collect() {
  barrier();
  at = 0;
  do
  :: at < READERS -> named[at] = place[at]; at++
  :: else -> break
  od
}
inline free_unread() {
  atomic {
    at = 1;
    do
    :: at <= VERSIONS ->
       if
       :: retired[at] && named[0] != at && named[1] != at -> retired[at] = false; alive[at] = false
       :: else -> skip
       fi;
       at++
    :: else -> break
    od
  }
}

proctype writer() {
  byte at, next, old, count;
  byte named[READERS];
  bool retired[VERSIONS + 1];
  count = 0;
  do
  :: count == PUBLISHES -> break
  :: else ->
     atomic {                  /* the first address that is not in use */
       next = 1;
       do
       :: next <= VERSIONS && (alive[next] || retired[next]) -> next++
       :: else -> break
       od
     };
     if
     :: next > VERSIONS ->     /* refused: as many are read as may be */
        collect();
        free_unread()
     :: else ->
        alive[next] = true;
#ifdef LOOK_FIRST
        collect();
#endif
        atomic { old = current; current = next };
        retired[old] = true;
#ifndef LOOK_FIRST
        collect();
#endif
        free_unread()
     fi;
     count++
  od;
  (done[0] && done[1] && buffered[0] == NOTHING && buffered[1] == NOTHING);
  collect();
  free_unread();
  at = 1;
  do
  :: at <= VERSIONS -> assert(!retired[at]); at++
  :: else -> break
  od
}

init {
  atomic {
    alive[1] = true;
    buffered[0] = NOTHING;
    buffered[1] = NOTHING;
    run reader(0);
    run reader(1);
    run drain(0);
    run drain(1);
    run writer()
  }
}
