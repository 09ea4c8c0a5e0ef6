// The calls that are not sampled: some instructions more than the allocator's own. Compiled without frame pointers and
// with jumps for last calls, so that malloc_counted has our caller's registers.
#include "record/fast.hpp"

#include "record/filter.hpp"
#include "record/next.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

using namespace tarn::record;

extern "C" {

TARN_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (!passes(bytes)) [[unlikely]]
    return malloc_counted(bytes);
  return behind.malloc(bytes);
}

TARN_EXPORT void free(void* block) noexcept {
  tarn::format::thread_record* const counts = own_counts;
  if (counts == nullptr || may_be_known(block)) [[unlikely]]
    return free_counted(block);
  add(counts->frees, 1);
  behind.free(block);
}

TARN_EXPORT void* calloc(std::size_t count, std::size_t each) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes)) [[unlikely]]
    return calloc_counted(count, each, charged::no);
  if (!passes(bytes)) [[unlikely]]
    return calloc_counted(count, each, is_charged());
  return behind.calloc(count, each);
}

}  // extern "C"
