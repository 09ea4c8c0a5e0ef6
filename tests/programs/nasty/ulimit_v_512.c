// Under ulimit -v of 512 MiB at least 440 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=512M
//@ broken-by reserves_much no_errno
#include <errno.h>
#include "../check.h"

static size_t take_all(size_t size) {
  void** last = NULL;
  size_t taken = 0;
  errno = 0;
  for (void** p; (p = malloc(size)) != NULL; last = p) {
    *p = last;
    ((char*)p)[size - 1] = 1;
    taken += size;
  }
  CHECK(errno == ENOMEM);
  while (last != NULL) {
    void** next = *last;
    free(last);
    last = next;
  }
  return taken;
}

int main(void) {
  const size_t wanted = (size_t)440 << 20;
  const size_t sizes[] = {1024, 1024, 100, 20000, 300000, 64, 3000000, 1024};
  const size_t extra = guarded() ? guarded_extra : 0;
  for (int i = 0; i < 8; ++i) {
    size_t least = sizes[i] < 500 ? wanted / 4 * 3 : wanted;
    CHECK(take_all(sizes[i]) > least / (sizes[i] + extra) * sizes[i]);
  }
  return 0;
}
