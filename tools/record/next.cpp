#include "record/next.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "record/entry.hpp"

namespace tarn::record {
namespace {

constinit std::atomic<bool> is_looking = false;

alignas(4096) constinit char early[64 * 1024] = {};
constinit std::atomic<std::size_t> early_used = 0;

[[noreturn]] void end(const char* words) noexcept {
  (void)!::write(STDERR_FILENO, words, std::strlen(words));
  std::abort();
}

template <class Function>
void look_up(Function& to, const char* name) noexcept {
  to = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void look_all_up() noexcept {
  look_up(behind.malloc, "malloc");
  look_up(behind.free, "free");
  look_up(behind.calloc, "calloc");
  look_up(behind.realloc, "realloc");
  look_up(behind.posix_memalign, "posix_memalign");
  look_up(behind.aligned_alloc, "aligned_alloc");
  look_up(behind.memalign, "memalign");
  look_up(behind.valloc, "valloc");
  look_up(behind.pvalloc, "pvalloc");
  look_up(behind.malloc_usable_size, "malloc_usable_size");
  if (behind.malloc == nullptr || behind.free == nullptr || behind.calloc == nullptr || behind.realloc == nullptr) {
    end("tarn: libtarn-record.so finds no malloc behind it\n");
  }
}

}  // namespace

constinit allocator behind = {};
constinit std::atomic<bool> behind_is_known = false;

const allocator* look_for_next() noexcept {
  if (is_looking.exchange(true, std::memory_order_relaxed)) {  // or the look-up has ended since the caller asked
    return behind_is_known.load(std::memory_order_acquire) ? &behind : nullptr;
  }
  look_all_up();
  behind_is_known.store(true, std::memory_order_release);  // release: a thread that sees it sees the functions
  return &behind;
}

void* next_function(const char* name) noexcept {
  const unseen now;  // dlsym allocates a message for a missing name; the next call frees it
  return ::dlsym(RTLD_NEXT, name);
}

void* early_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > sizeof early || alignment > early_step) return nullptr;
  const std::size_t wanted = (bytes / early_step + 1) * early_step;
  const std::size_t at = early_used.fetch_add(wanted, std::memory_order_relaxed);
  return at > sizeof early - wanted ? nullptr : early + at;
}

const void* early_place(std::size_t number) noexcept {
  return number < sizeof early / early_step ? early + number * early_step : nullptr;
}

bool is_early(const void* block) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(block), start = reinterpret_cast<std::uintptr_t>(early);
  return at - start < sizeof early;
}

std::size_t early_left(const void* block) noexcept {
  return static_cast<std::size_t>(early + sizeof early - static_cast<const char*>(block));
}

}  // namespace tarn::record
