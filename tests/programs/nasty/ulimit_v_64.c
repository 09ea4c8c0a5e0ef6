// Under ulimit -v of 64 MiB at least 36 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=64M
//@ broken-by reserves_much no_errno
#include "../take_all.h"

int main(void) {
  check_usable_bytes((size_t)36 << 20);
  return 0;
}
