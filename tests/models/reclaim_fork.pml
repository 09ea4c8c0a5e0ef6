/* What becomes of the parent's readers in a forked child: thread A reads a version, and may move its snapshot to thread
 * B, which forks at any moment. The child has B, which may use the snapshot and end it, a stranger C, which reads, and
 * a writer, who publishes and frees.
 * Claims: nobody uses a version that was freed; no publish of the child is refused because of a thread that the child
 * does not have; when all is quiet, what is retired is freed, except for what A was reading at the fork.
 *
 * Stands for finish_fork_in_child and take_block (src/reclaim/readers.cpp), versions::replace, versions::take_unread and
 * versions::unlink_unread (src/reclaim/versions.cpp), beside the protocol of reclaim.pml. A store of A into its slot
 * waits in a buffer. Moving the snapshot drains it, because the two threads must synchronise for that; what the buffer
 * has at the fork is lost to the child. The barrier of the child's writer is taken for granted: reclaim.pml has it.
 *
 * Mutants: EMPTY_SLOTS empties the slots of A in the child; FREE_BLOCK keeps what they name, but C may take the block;
 * COUNT_INHERITED counts the version that they name as one that a thread reads; KEEP_FULL never gives the block to
 * another thread, although its slots are empty. */

#define VERSIONS 5
#define PUBLISHES 3
#define MOST_RETIRED 2        /* C reads one version at a time, so one may always be published */
#define NOTHING 9

byte current = 1;
bool alive[VERSIONS + 1];
byte slot[2];                 /* one of A's block, and one of another block */
byte buffered = NOTHING;      /* a store of A that is on its way */
byte snapshot;                /* the version of the moved snapshot; 0: none was moved */
bool forked, inherited;       /* the first block belongs to no thread of the child */
bool done_b, done_c;
bool empty_at_end, taken;     /* the first block was empty when C needed one; C took it */

proctype reader_a() {
  { buffered = current;       /* nobody publishes in the parent: the second look finds the same */
    if
    :: true -> buffered == NOTHING; snapshot = slot[0]
    :: true -> assert(alive[current]); buffered == NOTHING; buffered = 0
    fi
  } unless { forked }
}

proctype drain() {
  do
  :: atomic { !forked && buffered != NOTHING -> slot[0] = buffered; buffered = NOTHING }
  :: atomic { forked -> break }
  od
}

proctype forker_b() {
  atomic {
    true -> forked = true;
    inherited = true;
#ifdef EMPTY_SLOTS
    slot[0] = 0;
#endif
  };
  if
  :: snapshot != 0 ->
     assert(alive[snapshot]);  /* used, from here */
     assert(alive[snapshot]);  /* to here */
     slot[0] = 0               /* ends: empties the slot that it was made with */
  :: else -> skip
  fi;
  done_b = true
}

proctype stranger_c() {
  byte seen, mine;
  forked;
  atomic {                    /* take_block, under the lock */
    empty_at_end = (slot[0] == 0);
#ifdef FREE_BLOCK
    mine = 0;
#else
#ifdef KEEP_FULL
    mine = 1;
#else
    mine = (slot[0] == 0 -> 0 : 1);
#endif
#endif
    taken = (mine == 0);
    inherited = inherited && !taken
  };
  assert(!empty_at_end || taken);
  seen = current;
  do
  :: slot[mine] = seen;
     if
     :: seen == current -> break
     :: else -> seen = current
     fi
  od;
  assert(alive[seen]);         /* used, from here */
  assert(alive[seen]);         /* to here */
  slot[mine] = 0;
  done_c = true
}

/* Frees what is retired and named by no slot. The slots are looked at one by one. */
inline take_unread() {
  named[0] = slot[0];
  of_parent = inherited;
  named[1] = slot[1];
  atomic {
    at = 0;
    kept = 0;
    counted = 0;
    do
    :: at < retired_count ->
       if
       :: named[0] == retired[at] || named[1] == retired[at] ->
          retired[kept] = retired[at];
          kept++;
          if
#ifndef COUNT_INHERITED
          :: named[1] != retired[at] && of_parent -> skip
#endif
          :: else -> counted++
          fi
       :: else -> alive[retired[at]] = false
       fi;
       at++
    :: else -> break
    od;
    retired_count = kept
  }
}

proctype writer() {
  byte at, next, count, kept, counted, retired_count;
  byte named[2];
  byte retired[VERSIONS + 1];
  bool of_parent;
  forked;
  do
  :: count == PUBLISHES -> break
  :: else ->
     if
     :: counted >= MOST_RETIRED -> take_unread()
     :: else -> skip
     fi;
     assert(counted < MOST_RETIRED);  /* else it is refused */
     atomic {                  /* the first address that is not in use */
       next = 1;
       do
       :: alive[next] -> next++
       :: else -> break
       od;
       alive[next] = true
     };
     atomic { retired[retired_count] = current; retired_count++; counted++; current = next };
     take_unread();
     count++
  od;
  (done_b && done_c);
  take_unread();
  assert(retired_count == 0 || (retired_count == 1 && inherited && retired[0] == slot[0] && counted == 0))
}

init {
  atomic {
    alive[1] = true;
    run reader_a();
    run drain();
    run forker_b();
    run stranger_c();
    run writer()
  }
}
