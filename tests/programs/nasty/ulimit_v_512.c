// Under ulimit -v of 512 MiB at least 440 MiB reach the program in 1 KiB blocks; then null, ENOMEM,
// and when all is freed, the same again and in blocks of other sizes.
//@ limit as=512M
//@ broken-by reserves_much no_errno
#include "../take_all.h"

int main(void) {
  check_usable_bytes((size_t)440 << 20);
  return 0;
}
