#include "profiler/preload/next.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "profiler/preload/base/loaded_module.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/entry.hpp"

namespace tarn::preload {
namespace {

constinit std::atomic<bool> is_looking = false;

alignas(4096) constinit char early_memory[64 * 1024] = {};
constinit std::atomic<std::size_t> early_used = 0;

[[noreturn]] void end(const char* message) noexcept {
  raw_call(SYS_write, STDERR_FILENO, message, std::strlen(message));
  std::abort();
}

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], _end[];

bool is_ours(const void* function) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return address >= reinterpret_cast<std::uintptr_t>(__ehdr_start) && address < reinterpret_cast<std::uintptr_t>(_end);
}

// Returns the handle for looking up the functions behind ours: after this library if it is preloaded, else in the scope
// of the program, which began without it. If this library is preloaded, the program finds our functions first.
void* scope_behind() noexcept {
  static constinit std::atomic<void*> scope = RTLD_DEFAULT;  // not known yet
  void* handle = scope.load(std::memory_order_relaxed);
  if (handle != RTLD_DEFAULT) return handle;
  constexpr const char* seldom_defined = "thrd_create";
  handle = is_ours(::dlsym(RTLD_DEFAULT, seldom_defined)) ? RTLD_NEXT : ::dlopen(nullptr, RTLD_LAZY);
  scope.store(handle, std::memory_order_relaxed);  // every thread finds the same
  return handle;
}

// In a program that began without this library, its own entry for another module's function would lead back to our
// hook.
void* function_behind(const char* name) noexcept {
  void* const scope = scope_behind();
  void* const function = ::dlsym(scope, name);
  return function == nullptr || scope == RTLD_NEXT || is_definition(function) ? function : first_definition(name);
}

template <class Function>
void look_up(Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(function_behind(name));
}

void look_all_up() noexcept {
  look_up(next_allocator.malloc, "malloc");
  look_up(next_allocator.free, "free");
  look_up(next_allocator.calloc, "calloc");
  look_up(next_allocator.realloc, "realloc");
  look_up(next_allocator.posix_memalign, "posix_memalign");
  look_up(next_allocator.aligned_alloc, "aligned_alloc");
  look_up(next_allocator.memalign, "memalign");
  look_up(next_allocator.valloc, "valloc");
  look_up(next_allocator.pvalloc, "pvalloc");
  look_up(next_allocator.malloc_usable_size, "malloc_usable_size");
  if (next_allocator.malloc == nullptr || next_allocator.free == nullptr || next_allocator.calloc == nullptr ||
      next_allocator.realloc == nullptr) {
    end("tarn: libtarn-record.so finds no malloc behind it\n");
  }
}

}  // namespace

constinit allocator next_allocator = {};
constinit std::atomic<bool> has_next_allocator = false;

const allocator* look_for_next() noexcept {
  if (is_looking.exchange(true, std::memory_order_relaxed)) {  // or the look-up has ended since the caller asked
    return has_next_allocator.load(std::memory_order_acquire) ? &next_allocator : nullptr;
  }
  look_all_up();
  has_next_allocator.store(true, std::memory_order_release);  // release: a thread that sees it sees the functions
  return &next_allocator;
}

void* next_function(const char* name) noexcept {
  const hidden_thread hidden;  // dlsym allocates a message for a missing name; the next call frees it
  return function_behind(name);
}

void* program_function(const char* name) noexcept {
  const hidden_thread hidden;
  void* const function = ::dlsym(RTLD_DEFAULT, name);
  if (function == nullptr || is_ours(function)) return function_behind(name);
  return is_definition(function) ? function : first_definition(name);
}

void* early_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > sizeof early_memory || alignment > early_step) return nullptr;
  const std::size_t rounded_bytes = (bytes / early_step + 1) * early_step;
  const std::size_t offset = early_used.fetch_add(rounded_bytes, std::memory_order_relaxed);
  return offset > sizeof early_memory - rounded_bytes ? nullptr : early_memory + offset;
}

const void* early_block(std::size_t number) noexcept {
  return number < sizeof early_memory / early_step ? early_memory + number * early_step : nullptr;
}

bool is_early(const void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block), start = reinterpret_cast<std::uintptr_t>(early_memory);
  return address - start < sizeof early_memory;
}

std::size_t early_left(const void* block) noexcept {
  return static_cast<std::size_t>(early_memory + sizeof early_memory - static_cast<const char*>(block));
}

}  // namespace tarn::preload
