// Under ulimit -v of 128 MiB at least 90 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=128M
//@ broken-by reserves_much no_errno
#include "../take_all.h"

int main(void) {
  check_usable_bytes((size_t)90 << 20);
  return 0;
}
