// TARN_LIMIT: null and ENOMEM when it is reached, at least 52 of 64 MiB usable, and free makes room.
//@ tarn-only
//@ env TARN_LIMIT=64M
#include "../take_all.h"

int main(void) {
  const size_t sizes[] = {1024, 64, 5000, 100000, 1 << 20, 1024, 10000000};
  const size_t extra = guarded() ? guarded_extra : 0;
  for (int i = 0; i < 7; ++i) {
    size_t taken = take_all(sizes[i], (size_t)64 << 20);
    size_t least = (size_t)(sizes[i] == 10000000 ? 48 : 52) << 20;
    CHECK(taken >= least / (sizes[i] + extra) * sizes[i]);
  }
  return 0;
}
