#include "record/memory.hpp"

#include <sys/mman.h>

#include "record/lock.hpp"

namespace tarn::record {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constinit lock taking;
constinit char* left = nullptr;
constinit std::size_t left_bytes = 0;

}  // namespace

void* map(std::size_t bytes) noexcept {
  const long made =
      raw_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made < 0 && made > -4096 ? nullptr : reinterpret_cast<void*>(made);
}

void unmap(void* start, std::size_t bytes) noexcept {
  if (start != nullptr) raw_call(SYS_munmap, start, bytes);
}

void* take(std::size_t bytes) noexcept {
  bytes = (bytes + 15) / 16 * 16;
  if (bytes > piece_bytes / 4) return map(bytes);
  const holding held(taking);
  if (left_bytes < bytes) {
    left = static_cast<char*>(map(piece_bytes));
    left_bytes = left == nullptr ? 0 : piece_bytes;
    if (left == nullptr) return nullptr;
  }
  void* const made = left;
  left += bytes;
  left_bytes -= bytes;
  return made;
}

void begin_memory_anew() noexcept {
  taking.begin_anew();
  left = nullptr;
  left_bytes = 0;
}

}  // namespace tarn::record
