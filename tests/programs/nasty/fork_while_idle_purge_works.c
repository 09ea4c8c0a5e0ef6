// A program of one thread frees much memory and forks while the helper of Tarn gives that memory back: a child must
// find no lock held and no purge begun by a helper that is not there.
//@ broken-by malloc_overlap
//@ env TARN_PURGE_DELAY_MS=4
#include <sys/wait.h>
#include "../check.h"

enum { blocks = 300, block_bytes = 1 << 20 };
static char* kept_blocks[blocks];

static void use_all(void) {
  for (int i = 0; i < blocks; ++i) {
    kept_blocks[i] = (char*)malloc(block_bytes);
    CHECK(kept_blocks[i] != NULL);
    memset(kept_blocks[i], i, block_bytes);
  }
  for (int i = 0; i < blocks; ++i) {
    CHECK(kept_blocks[i][block_bytes / 2] == (char)i);
    free(kept_blocks[i]);
  }
}

int main(void) {
  for (int round = 0; round < 6; ++round) {
    use_all();
    for (int i = 0; i < 20; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(hang_seconds());
        for (int j = 0; j < 20; ++j) {
          char* block = (char*)malloc(block_bytes);
          CHECK(block != NULL);
          memset(block, 1, block_bytes);
          free(block);
        }
        malloc_trim(0);
        _exit(0);
      }
      int status = -1;
      CHECK(child > 0 && waitpid(child, &status, 0) == child);
      CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
  }
  return 0;
}
