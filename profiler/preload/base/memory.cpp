#include "profiler/preload/base/memory.hpp"

#include <sys/mman.h>

#include "profiler/preload/base/lock.hpp"

namespace tarn::preload {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constinit lock taking;
constinit char* left = nullptr;
constinit std::size_t left_bytes = 0;

// Reserves addresses only; the kernel provides a page when it is touched.
constexpr std::size_t reserve_bytes = std::size_t{64} << 20, page = 4096;
constinit char* reserve = nullptr;
constinit std::atomic<std::size_t> reserve_used = 0;

void* map_from_reserve(std::size_t bytes) noexcept {
  bytes = (bytes + page - 1) / page * page;
  const std::size_t offset = reserve_used.fetch_add(bytes, std::memory_order_relaxed);
  return reserve == nullptr || bytes > reserve_bytes || offset > reserve_bytes - bytes ? nullptr : reserve + offset;
}

}  // namespace

constinit std::atomic<bool> restricted = false;

void* map(std::size_t bytes) noexcept {
  if (is_restricted()) return map_from_reserve(bytes);
  const long address =
      raw_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address < 0 && address > -4096 ? nullptr : reinterpret_cast<void*>(address);
}

void unmap(void* start, std::size_t bytes) noexcept {
  if (start != nullptr) own_call(SYS_munmap, start, bytes);
}

void set_memory_aside() noexcept {
  if (reserve == nullptr) reserve = static_cast<char*>(map(reserve_bytes));
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
  void* const block = left;
  left += bytes;
  left_bytes -= bytes;
  return block;
}

void begin_memory_anew() noexcept {
  taking.begin_anew();
  left = nullptr;
  left_bytes = 0;
}

}  // namespace tarn::preload
