#include "record/stack.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "format/region.hpp"
#include "record/rows.hpp"

extern "C" void* __libc_stack_end;  // of the main thread; the loader's

namespace tarn::record {
namespace {

constexpr std::uintptr_t word = sizeof(std::uintptr_t);

#if defined(__x86_64__)
// In the ucontext_t that the kernel puts there: its registers, by their numbers in gregset_t.
constexpr std::uintptr_t saved_frame = offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]),
                         saved_stack = offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]),
                         saved_address = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
static_assert(saved_frame < saved_address && saved_stack < saved_address);
#endif

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

namespace {

// The frame pointer of the frame that is walked, and where it came from: whether that counts as read shows only when a
// step uses it.
class frame_pointer {
 public:
  frame_pointer(std::uintptr_t value, stack_reads& reads) noexcept : value_(value), reads_(reads) {}
  void restore(std::uintptr_t value, std::uintptr_t offset) noexcept {
    value_ = value, offset_ = offset, noted_ = false;
  }
  std::uintptr_t use() noexcept {
    if (offset_ == in_register) {
      reads_.frame_matters = true;
    } else if (!noted_) {
      reads_.note(offset_, value_);
      noted_ = true;
    }
    return value_;
  }

 private:
  static constexpr std::uintptr_t in_register = UINTPTR_MAX;
  std::uintptr_t value_;
  stack_reads& reads_;
  std::uintptr_t offset_ = in_register;  // above the first stack pointer
  bool noted_ = false;
};

}  // namespace

std::size_t walk(const caller& from, const stack_limits& limits, std::uintptr_t* frames, stack_reads& reads) noexcept {
  reads.count = 0;
  reads.frame_matters = false;
  frames[0] = from.address;
  std::size_t count = 1;
  std::uintptr_t address = from.address, stack = from.stack;
  frame_pointer frame(from.frame, reads);
  if (stack < limits.low || stack >= limits.high) return count;
  while (count < format::most_frames) {
    // Inside of the call instruction: the next one may be another function's.
    const row step = row_at(address - 1);
    std::uintptr_t next;  // the caller's stack pointer
    std::uintptr_t return_at;
    if (step.how == row::from_stack || step.how == row::from_frame) {
      next = (step.how == row::from_stack ? stack : frame.use()) + static_cast<std::uintptr_t>(step.up);
      return_at = next + 8 * static_cast<std::uintptr_t>(step.return_at);
      const std::uintptr_t frame_at = next + 8 * static_cast<std::uintptr_t>(step.frame_at);
      // Strictly upwards, so that it ends; and every word that is read lies between.
      if (next <= stack || next > limits.high || return_at < stack || return_at > next - word) break;
      if (step.frame_saved) {
        if (frame_at < stack || frame_at > next - word) break;
        frame.restore(read_word(frame_at), frame_at - from.stack);
      }
#if defined(__x86_64__)
    } else if (step.how == row::signal) {
      const std::uintptr_t frame_at = stack + saved_frame, stack_at = stack + saved_stack;
      return_at = stack + saved_address;
      if (return_at > limits.high - word) break;
      next = read_word(stack_at);
      if (next <= return_at || next > limits.high) break;  // it interrupted another stack
      reads.note(stack_at - from.stack, next);
      reads.note(return_at - from.stack, read_word(return_at));
      frame.restore(read_word(frame_at), frame_at - from.stack);
      // What was interrupted stands at its next instruction, all others behind their call.
      frames[count++] = address = read_word(return_at) + 1;
      stack = next;
      continue;
#endif
    } else if (step.how == row::unknown) {
      // Code made at run time, or assembler: if it keeps a frame pointer, two words lie there.
      const std::uintptr_t at = frame.use();
      if (at < stack || at % word != 0 || at > limits.high - 2 * word) break;
      next = at + 2 * word;
      return_at = at + word;
      frame.restore(read_word(at), at - from.stack);
    } else {
      break;
    }
    address = read_word(return_at);
    reads.note(return_at - from.stack, address);
    stack = next;
    if (address == 0) break;
    frames[count++] = address;
  }
  return count;
}

}  // namespace tarn::record
