/* Appending to a journal whose file somebody truncates (src/io/journal.cpp, src/io/journal_file.cpp).
 * Claims: a line whose append begins after the last truncation is found, once; a line that was begun before is found at
 * most once; nobody waits for ever.
 *
 * Stands for journal::entry::commit, state::turn, journal_file::restore. The file is a list of chunks,
 * each of a head and CELLS lines, none of them used twice. `present` says whether the file has pages; a store without
 * them is a fault, whose handler restores the file and repeats the store. What was there before a truncation is zero.
 *
 * Mutants: NO_LOOK commits without looking whether the line is in the file; HEAD_ONLY looks for the head of the chunk
 * and not at the count; COUNT_LATE counts the restoration after the file has pages; NO_ERASE leaves the line that is
 * written again, which may be in a part of the file that is left. */

#define LANES 2
#define CELLS 2
#define CHUNKS 8
#define LINES 2               /* of each thread */
#define TRUNCATIONS 2

bool present = true;
bool restoring = false;
byte restorations = 0;
byte truncations = 0;
byte head[CHUNKS];            /* number of the chunk + 1; 0: none */
byte cell[CHUNKS * CELLS];    /* the text of a line; 0: none */
byte next_chunk = 0;
byte surviving = 0;           /* chunks below this one have kept their pages in the last truncation */

bool begun_late[1 + LANES * LINES];   /* the append began after the last truncation */
bool returned[1 + LANES * LINES];

inline restore() {
  atomic { !restoring -> restoring = true }
#ifdef COUNT_LATE
  if :: !present -> present = true; restorations = restorations + 2 :: else fi;
#else
  if :: !present -> restorations++; present = true; restorations++ :: else fi;
#endif
  restoring = false
}

/* A store, or the fault and then the store. The first chunk may be in the part of the file that is left. */
inline store(where, value, chunk) {
  do
  :: atomic { present || chunk < surviving -> where = value; break }
  :: atomic { !present && chunk >= surviving -> skip }
     restore()
  od
}

/* No restoration is going on: what is truncated from here on is counted after this. */
inline see() { atomic { restorations % 2 == 0 -> seen = restorations } }

inline turn() {
  see();
  atomic { chunk = next_chunk; next_chunk++; assert(chunk < CHUNKS) }
  at = 0;
  store(head[chunk], chunk + 1, chunk)
}

proctype appender(byte who) {
  byte chunk, at = CELLS, line = 0, text, seen;
  bool kept;
  do
  :: line == LINES -> break
  :: else ->
     text = 1 + who * LINES + line;
     atomic { begun_late[text] = (truncations == TRUNCATIONS) }
     if :: at == CELLS -> turn() :: else fi;
again:
     store(cell[chunk * CELLS + at], text, chunk);
#ifndef NO_LOOK
     /* The head of the chunk is loaded: that may be the access that finds the file truncated. */
     do
     :: atomic { present || chunk < surviving -> kept = (head[chunk] == chunk + 1); break }
     :: atomic { !present && chunk >= surviving -> skip }
        restore()
     od;
     if
#ifdef HEAD_ONLY
     :: kept -> skip
#else
     :: kept && seen == restorations -> skip
#endif
     :: else ->
#ifndef NO_ERASE
        store(cell[chunk * CELLS + at], 0, chunk);
#endif
        turn();
        goto again
     fi;
#endif
     returned[text] = true;
     at++;
     line++
  od
}

proctype truncator() {
  byte each;
  do
  :: truncations == TRUNCATIONS -> break
  :: truncations < TRUNCATIONS ->
     d_step {
       /* All of it. */
       each = 0;
       do
       :: each == CHUNKS -> break
       :: else ->
          head[each] = 0; cell[each * CELLS] = 0; cell[each * CELLS + 1] = 0;
          each++
       od;
       present = false;
       surviving = 0;
       truncations++
     }
  :: truncations < TRUNCATIONS ->
     d_step {
       /* In the middle of the first chunk: its head is left, its lines are gone. */
       cell[0] = 0; cell[1] = 0;
       each = 1;
       do
       :: each == CHUNKS -> break
       :: else ->
          head[each] = 0; cell[each * CELLS] = 0; cell[each * CELLS + 1] = 0;
          each++
       od;
       present = false;
       surviving = 0;
       truncations++
     }
  :: truncations < TRUNCATIONS ->
     d_step {
       /* Behind the first chunk. */
       each = 1;
       do
       :: each == CHUNKS -> break
       :: else ->
          head[each] = 0; cell[each * CELLS] = 0; cell[each * CELLS + 1] = 0;
          each++
       od;
       surviving = ((present || surviving == 1) -> 1 : 0);
       present = false;
       truncations++
     }
  od
}

init {
  byte each, line, text, found;
  atomic { run appender(0); run appender(1); run truncator() }
  (_nr_pr == 1);
  d_step {
    text = 1;
    do
    :: text > LANES * LINES -> break
    :: else ->
       found = 0;
       each = 0;
       do
       :: each == CHUNKS -> break
       :: else ->
          line = 0;
          do
          :: line == CELLS || head[each] == 0 || cell[each * CELLS + line] == 0 -> break
          :: else ->
             if :: cell[each * CELLS + line] == text -> found++ :: else fi;
             line++
          od;
          each++
       od;
       assert(found <= 1);                              /* never twice */
       assert(found == 1 || !begun_late[text]);         /* what was to come is there */
       text++
    od
  }
}
