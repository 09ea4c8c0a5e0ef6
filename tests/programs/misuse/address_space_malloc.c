// The address space runs out: null and ENOMEM, the blocks stay good, and freeing makes room.
//@ limit as=300M
//@ broken-by no_errno malloc_overlap
#include <errno.h>
#include "../check.h"

int main(void) {
  for (int round = 0; round < 2; ++round) {
    char** last = NULL;
    unsigned seed = 0;
    errno = 0;
    for (char** p; (p = malloc(seed % 1000 * 100 + 16)) != NULL; last = p, ++seed) {
      p[0] = (char*)last;
      fill(p + 1, 8, seed);
    }
    CHECK(errno == ENOMEM && seed > 3000);
    errno = 0;
    CHECK(calloc(1, (size_t)100 << 20) == NULL && errno == ENOMEM);
    while (last != NULL) {
      CHECK(is_filled(last + 1, 8, --seed));
      char** next = (char**)last[0];
      free(last);
      last = next;
    }
    CHECK(seed == 0);
  }
  return 0;
}
