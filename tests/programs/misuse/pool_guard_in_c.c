// A C program overruns a block of a guarded pool: the site is the program's call.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: pool::deallocate({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too large
#include <tarn/tarn.h>

#include "../guarded.h"

int main(void) {
  const tarn_pool_options options = {.is_guarded = true};
  tarn_pool* lines = tarn_pool_create(24, 0, &options);
  char* line = tarn_pool_malloc(lines);
  note_guarded(line);
  line[24] = 1;
  tarn_pool_free(lines, line);
  return 0;
}
