/* What is read without a lock and freed when nobody reads it: two readers, one writer who publishes and frees.
 * Claims: no reader uses a version that was freed, nor a node of a memo that was freed; when all is quiet, what was
 * retired is freed, unless the kernel refused a barrier.
 *
 * Stands for detail::pin_at and detail::unpin (include/tarn/detail/readers.hpp), versions::replace and
 * versions::take_unread (src/reclaim/versions.cpp), memo::free_unread (include/tarn/io/memo.hpp). Each statement is one
 * atomic operation; a reader's store into its place waits in a buffer of that reader, as in a processor, and is visible
 * to others when the buffer drains: at any later moment, or by the writer's barrier in all threads. A reader sees its own
 * stores. A freed version is used again for the next one at once, so a place may name a version by an address of before
 * (ABA). The kernel refuses the barrier from any moment on, and then for ever.
 *
 * With GENERATIONS the versions are those of a memo: a reader pins one and then follows a link to a node. The node that
 * the writer unlinks goes with the version that it replaces next. Versions are then freed in their order.
 *
 * Mutants: NO_BARRIER leaves out membarrier; NO_SECOND_LOOK trusts the first load of the current version; LOOK_FIRST
 * looks at the places before it replaces the version; EMPTY_EARLY empties the place before the last use; TRUST_REFUSED
 * frees although the barrier was refused. With GENERATIONS also: ANY_ORDER frees a version although an older one is
 * read; UNLINK_LATE unlinks after the version was replaced. */

#define READERS 2
#define READS (me + 1)        /* of one reader one, of the other one two */
#define PUBLISHES 3
#define VERSIONS 3

byte current = 1;             /* address of a version, 0: none */
bool alive[VERSIONS + 1];     /* of the version, and of the node that ends with it */
byte linked = 1;              /* the node that a reader can reach; it has the number of the version that ends with it */
byte place[READERS];          /* as the writer sees it */
byte buffered[READERS];       /* a store that is on its way; NOTHING: none */
bool done[READERS];
bool refused;                 /* the kernel does not run a barrier any more */
#define NOTHING 9

proctype reader(byte me) {
  byte seen, still, node, count;
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
#ifdef GENERATIONS
     node = linked;
#else
     node = seen;
#endif
#ifdef EMPTY_EARLY
     atomic { buffered[me] == NOTHING -> buffered[me] = 0 };
     assert(alive[node]);
#else
     assert(alive[node]);      /* used, from here */
     assert(alive[node]);      /* to here */
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
  if
  :: !refused ->
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
  :: refused = true
  fi
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
#ifdef TRUST_REFUSED
    if
    :: true ->
#else
    if
    :: refused -> skip
    :: else ->
#endif
       at = 0;                 /* by age, the oldest one first */
       stays = false;
       kept = 0;
       do
       :: at < retired_count ->
#if !defined(GENERATIONS) || defined(ANY_ORDER)
          stays = false;
#endif
          stays = stays || named[0] == retired[at] || named[1] == retired[at];
          if
          :: stays -> retired[kept] = retired[at]; kept++
          :: else -> alive[retired[at]] = false
          fi;
          at++
       :: else -> break
       od;
       retired_count = kept
    fi
  }
}

proctype writer() {
  byte at, next, count, kept;
  byte named[READERS];
  byte retired[VERSIONS + 1];
  byte retired_count;
  bool stays;
  count = 0;
  do
  :: count == PUBLISHES -> break
  :: else ->
     atomic {                  /* the first address that is not in use */
       next = 1;
       do
       :: next <= VERSIONS && alive[next] -> next++
       :: else -> break
       od
     };
     if
     :: next > VERSIONS ->     /* refused: as many are read as may be */
        collect();
        free_unread()
     :: else ->
        alive[next] = true;
#ifndef UNLINK_LATE
        linked = next;
#endif
#ifdef LOOK_FIRST
        collect();
#endif
        atomic { retired[retired_count] = current; retired_count++; current = next };
#ifndef LOOK_FIRST
        collect();
#endif
#ifdef UNLINK_LATE
        linked = next;
#endif
        free_unread()
     fi;
     count++
  od;
  (done[0] && done[1] && buffered[0] == NOTHING && buffered[1] == NOTHING);
  collect();
  free_unread();
  assert(retired_count == 0 || refused)
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
