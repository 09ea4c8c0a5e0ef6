#include "record/stack.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "record/rows.hpp"

extern "C" void* __libc_stack_end;  // of the main thread; the loader's

namespace tarn::record {
namespace {

constexpr std::uintptr_t word = sizeof(std::uintptr_t);

std::uintptr_t read_word(std::uintptr_t address) noexcept { return *reinterpret_cast<const std::uintptr_t*>(address); }

// pthread_getattr_np of the main thread reads /proc/self/maps through stdio; this does without.
stack_limits main_stack() noexcept {
  constexpr rlim_t most = rlim_t{1} << 30;  // where there is no limit: far from all that is mapped elsewhere
  rlimit limit;
  if (::getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  const auto high = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  return {high - static_cast<std::uintptr_t>(std::min(limit.rlim_cur, most)), high};
}

}  // namespace

stack_limits own_stack() noexcept {
  if (::gettid() == ::getpid()) return main_stack();
  const int before = errno;
  pthread_attr_t attributes;
  stack_limits found;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    void* start;
    std::size_t size;
    if (::pthread_attr_getstack(&attributes, &start, &size) == 0) {
      found = {reinterpret_cast<std::uintptr_t>(start), reinterpret_cast<std::uintptr_t>(start) + size};
    }
    ::pthread_attr_destroy(&attributes);
  }
  errno = before;
  return found;
}

std::size_t walk(const caller& from, const stack_limits& limits, std::uintptr_t* frames, std::size_t most) noexcept {
  frames[0] = from.address;
  std::size_t count = 1;
  std::uintptr_t address = from.address, stack = from.stack, frame = from.frame;
  if (stack < limits.low || stack >= limits.high) return count;
  while (count < most) {
    const row step = row_at(address - 1);  // inside of the call instruction: the next one may be another function's
    std::uintptr_t next;                   // the caller's stack pointer
    if (step.how == row::from_stack || step.how == row::from_frame) {
      next = (step.how == row::from_stack ? stack : frame) + static_cast<std::uintptr_t>(step.up);
      const std::uintptr_t return_at = next + 8 * static_cast<std::uintptr_t>(step.return_at);
      const std::uintptr_t frame_at = next + 8 * static_cast<std::uintptr_t>(step.frame_at);
      // Strictly upwards, so that it ends; and every word that is read lies between.
      if (next <= stack || next > limits.high || return_at < stack || return_at > next - word) break;
      address = read_word(return_at);
      if (step.frame_saved) {
        if (frame_at < stack || frame_at > next - word) break;
        frame = read_word(frame_at);
      }
    } else if (step.how == row::unknown) {
      // Code made at run time, or assembler: if it keeps a frame pointer, two words lie there.
      if (frame < stack || frame % word != 0 || frame > limits.high - 2 * word) break;
      next = frame + 2 * word;
      address = read_word(frame + word);
      frame = read_word(frame);
    } else {
      break;
    }
    stack = next;
    if (address == 0) break;
    frames[count++] = address;
  }
  return count;
}

}  // namespace tarn::record
