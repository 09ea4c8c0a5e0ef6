/* Appending to a journal (src/io/journal.cpp), store by store, with a process that dies between any two of them.
 * Claims: whatever is dead or half done, a reader finds every line whose append returned and that was not overwritten,
 * no other line as whole, and at most one torn line in a chunk; two threads never write into one chunk.
 *
 * Stands for journal::append, journal::entry, state::turn, chunk_walk. A chunk is a header and CELLS words. A line is a
 * mark and one or two words of text; its text is its number, so that old text is not new text. Checksums are left out:
 * the order of the stores must do without. Each statement is one store. Chunks are used again, with old words in them.
 *
 * Mutants: COMMIT_EARLY writes the mark before the text; NO_END leaves old words behind a line; HEADER_EARLY shows the
 * chunk before its first mark is cleared; OLD_HEADER clears it while the old header still stands; HELD_BLIND takes a
 * chunk without asking whether a thread still writes into it. */

#define LANES 2
#define SLOTS 2
#define CELLS 4               /* words of a chunk: a line of one word and one of two do not both fit */
#define LINES 2               /* of each thread */
#define EMPTY 0
#define PART 1
#define WHOLE(size) (1 + (size))   /* 2: one word of text, 3: two */

byte number[SLOTS];           /* header: number of the chunk, 0: none */
byte cell[SLOTS * CELLS];
byte owner[SLOTS];            /* lanes that write into the slot now: what must never be two */
bool held[SLOTS];
byte next_chunk = 1;
byte next_text = 10;          /* of a line: also its number */
bool dead = false;

/* What a reader must find: where each line lies that has returned. */
byte line_slot[16], line_chunk[16], line_at[16], line_size[16], line_text[16];
byte lines = 0;
byte chunk_of[2 * LINES + 2]; /* where the line with this text was begun */

#define AT(slot, at) cell[(slot) * CELLS + (at)]
#define STEP dead -> goto over :: !dead

proctype appender() {
  byte slot, at = CELLS, size, text, mine, count = 0;
  bool has = false;
  do
  :: count == LINES -> break
  :: else ->
     if
     :: STEP -> atomic { size = 1; text = next_text; next_text++ }
     :: STEP -> atomic { size = 2; text = next_text; next_text++ }
     fi;
     if
     :: at + 1 + size > CELLS ->
        if
        :: STEP -> atomic { if :: has -> owner[slot]--; held[slot] = false; has = false :: else fi }
        fi;
        do
        :: STEP -> atomic {
             mine = next_chunk;
             next_chunk++;
             slot = (mine - 1) % SLOTS;
#ifdef HELD_BLIND
             held[slot] = true; has = true; owner[slot]++; assert(owner[slot] == 1); break
#else
             if
             :: held[slot] -> skip
             :: else -> held[slot] = true; has = true; owner[slot]++; assert(owner[slot] == 1); break
             fi
#endif
           }
        od;
#ifdef HEADER_EARLY
        if :: STEP -> number[slot] = mine fi;
        if :: STEP -> AT(slot, 0) = EMPTY fi;
#else
#ifndef OLD_HEADER
        if :: STEP -> number[slot] = 0 fi;
#endif
        if :: STEP -> AT(slot, 0) = EMPTY fi;
        if :: STEP -> number[slot] = mine fi;
#endif
        at = 0
     :: else
     fi;
     /* the line */
     if :: STEP -> atomic { AT(slot, at) = PART; chunk_of[text - 10] = mine } fi;
#ifdef COMMIT_EARLY
     if :: STEP -> AT(slot, at) = WHOLE(size) fi;
#endif
     if :: STEP -> AT(slot, at + 1) = text fi;
     if
     :: size == 2 -> if :: STEP -> AT(slot, at + 2) = text fi
     :: else
     fi;
#ifndef NO_END
     if
     :: at + 1 + size < CELLS -> if :: STEP -> AT(slot, at + 1 + size) = EMPTY fi
     :: else
     fi;
#endif
     if :: STEP -> AT(slot, at) = WHOLE(size) fi;
     /* append returns */
     if
     :: STEP -> atomic {
          line_slot[lines] = slot; line_chunk[lines] = mine; line_at[lines] = at; line_size[lines] = size;
          line_text[lines] = text; lines++
        }
     fi;
     at = at + 1 + size;
     count++
  od;
over:
  skip
}

proctype death() { dead = true }

/* Walks every chunk as the reader does. */
inline read_all() {
  slot = 0;
  do
  :: slot == SLOTS -> break
  :: else ->
     at = 0;
     do
     :: number[slot] == 0 || at >= CELLS -> break
     :: else ->
        mark = AT(slot, at);
        if
        :: mark == EMPTY -> break
        :: mark == PART -> break       /* torn: the last of its chunk */
        :: mark > 3 -> assert(false)   /* old words taken for a mark */
        :: else ->
           /* whole: its text must be that of one line, complete, of this chunk and place */
           assert(at + mark <= CELLS);
           assert(AT(slot, at + 1) >= 10);
           assert(mark == 2 || AT(slot, at + 1) == AT(slot, at + 2));
           assert(AT(slot, at + 1) < next_text);
           assert(chunk_of[AT(slot, at + 1) - 10] == number[slot]);
           assert(!seen[AT(slot, at + 1) - 10]);
           seen[AT(slot, at + 1) - 10] = true;
           at = at + mark
        fi
     od;
     slot++
  od
}

init {
  byte slot, at, mark, each;
  bool seen[2 * LINES + 2];
  atomic { run appender(); run appender(); run death() }
  (_nr_pr == 1);
  d_step {
    read_all();
    each = 0;
    do
    :: each == lines -> break
    :: else ->
       /* still in its chunk: then it was found */
       assert(number[line_slot[each]] != line_chunk[each] || seen[line_text[each] - 10]);
       /* and a chunk is gone only when a newer one took its slot, or was about to */
       assert(number[line_slot[each]] == line_chunk[each] || next_chunk > line_chunk[each] + SLOTS);
       each++
    od
  }
}
