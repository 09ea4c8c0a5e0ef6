#include "pages/metadata.hpp"

#include "base/bits.hpp"
#include "base/check.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {
namespace {

using namespace base::units;

constexpr std::size_t chunk_bytes = 256_KiB;

constinit platform::mutex mutex{platform::lock_rank::metadata};
constinit char* next = nullptr;
constinit char* end = nullptr;

}  // namespace

void* metadata::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  TARN_CHECK(bytes <= chunk_bytes && base::is_power_of_two(alignment));
  const platform::locked hold(mutex);
  char* start = base::align_up(next, alignment);
  if (next == nullptr || start + bytes > end) {
    char* const chunk = static_cast<char*>(platform::map(chunk_bytes, platform::page_bytes()));
    if (chunk == nullptr) {
      return nullptr;
    }
    start = chunk;
    end = chunk + chunk_bytes;
  }
  next = start + bytes;
  return start;
}

platform::mutex& metadata::lock() noexcept { return mutex; }

}  // namespace tarn::pages
