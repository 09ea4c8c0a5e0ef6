// A program that has reserved most of the address space, as Java, databases and sanitizers do, gets large and small
// blocks from the rest; and a terabyte on any machine, which costs only the touched pages.
//@ limit as=100000G
//@ broken-by plain
#include <sys/mman.h>
#include <sys/wait.h>
#include "../check.h"

#define GIB ((size_t)1 << 30)

static void use(size_t bytes) {
  const size_t before = resident_bytes();
  char* block = malloc(bytes);
  CHECK(block != NULL);
  block[0] = block[bytes - 1] = 1;
  CHECK(resident_bytes() < before + ((size_t)4 << 20));
  char* zeroed = calloc(bytes, 1);
  CHECK(zeroed != NULL && zeroed[bytes / 2] == 0);
  free(zeroed);
  free(block);
  CHECK(resident_bytes() < before + ((size_t)4 << 20));
}

int main(void) {
  const size_t reserved[] = {0, 700, 1500, 2000, 20000, 60000};
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (size_t left = reserved[i]; left != 0; left -= 100) {
        CHECK(mmap(NULL, 100 * GIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
      }
      for (size_t size = 50; size <= 1600; size *= 2) use(size * GIB);
      for (int block = 0; block < 100000; ++block) CHECK(malloc(5000) != NULL);
      _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  return 0;
}
