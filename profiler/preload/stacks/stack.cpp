#include "profiler/preload/stacks/stack.hpp"

#include <sys/resource.h>
#include <sys/ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/readable.hpp"
#include "profiler/preload/stacks/rows.hpp"

extern "C" void* __libc_stack_end;  // the end of the main thread's stack; the loader sets it

namespace tarn::preload {
namespace {

constexpr std::uintptr_t word = sizeof(std::uintptr_t);

#if defined(__x86_64__)
// These are offsets in the ucontext_t that the kernel puts there: its registers, by their numbers in gregset_t.
constexpr std::uintptr_t saved_frame = offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]),
                         saved_stack = offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]),
                         saved_address = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
static_assert(saved_frame < saved_address && saved_stack < saved_address);
#endif

std::uintptr_t read_word(std::uintptr_t address) noexcept { return *reinterpret_cast<const std::uintptr_t*>(address); }

}  // namespace

// Finds the main thread's stack without pthread_getattr_np(), which reads /proc/self/maps through stdio.
stack_limits main_stack() noexcept {
  constexpr rlim_t largest = rlim_t{1} << 30;  // without a limit: far from everything that is mapped elsewhere
  rlimit limit;
  if (raw_call(SYS_prlimit64, 0, RLIMIT_STACK, nullptr, &limit) != 0) return {};
  const auto high = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  return {high - static_cast<std::uintptr_t>(std::min(limit.rlim_cur, largest)), high};
}

namespace {

// Tells which words a walk may read: on the thread's own stack those within its limits, which are known; on any other
// stack (a fiber's, a signal's) those that the kernel can read. Nothing is remembered from walk to walk, as a fiber's
// memory may be gone, or smaller, when its addresses are used again.
class readable_words {
 public:
  readable_words(const stack_limits& limits, std::uintptr_t stack) noexcept
      : limits_(limits), is_own_(is_in_own(stack)) {}

  bool is_own() const noexcept { return is_own_; }
  bool is_in_own(std::uintptr_t stack) const noexcept { return stack >= limits_.low && stack < limits_.high; }
  // Lets the walk continue on another stack. From here on, words within the limits are checked too, as there may be
  // no memory yet below the stack pointer.
  void leave_own() noexcept { is_own_ = false; }
  bool has(std::uintptr_t address) noexcept {
    if (is_own_) return address >= limits_.low && address <= limits_.high - word;
    return can_read(address) && can_read(address + word - 1);
  }
  // Returns true when a stack pointer may lie there, with nothing above it that is read.
  bool reaches(std::uintptr_t stack) const noexcept { return !is_own_ || stack <= limits_.high; }
  // Returns how far above the stack pointer a frame may lie that is known only from a frame pointer.
  std::uintptr_t room_above(std::uintptr_t stack) const noexcept {
    constexpr std::uintptr_t limit = std::uintptr_t{8} << 20;  // code without frame pointers keeps anything there
    return is_own_ ? limits_.high - stack : limit;
  }

 private:
  static constexpr std::uintptr_t page_bytes = 4096;

  bool can_read(std::uintptr_t address) noexcept {
    const std::uintptr_t page = address / page_bytes;
    if (page == known_page_) return true;
    if (!is_word_readable(address & ~(word - 1))) return false;
    known_page_ = page;
    return true;
  }

  const stack_limits& limits_;
  bool is_own_;
  std::uintptr_t known_page_ = UINTPTR_MAX;  // none
};

// Holds the frame pointer of the current frame and its origin. It counts as read only when a step uses it.
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

std::size_t walk(const caller& caller, const stack_limits& limits, std::uintptr_t* frames,
                 stack_reads& reads) noexcept {
  reads.count = 0;
  reads.frame_matters = false;
  frames[0] = caller.address;
  std::size_t count = 1;
  std::uintptr_t address = caller.address, stack = caller.stack;
  frame_pointer frame(caller.frame, reads);
  readable_words words(limits, stack);
  if (!words.is_own()) reads.forget();
  while (count < format::most_frames) {
    // Looks up an address inside the call instruction, as the next instruction may be another function's.
    const row step = row_at(address - 1);
    std::uintptr_t next;  // the caller's stack pointer
    std::uintptr_t return_at;
    if (step.rule == row::from_stack || step.rule == row::from_frame) {
      next = (step.rule == row::from_stack ? stack : frame.use()) + static_cast<std::uintptr_t>(step.up);
      return_at = next + 8 * static_cast<std::uintptr_t>(step.return_at);
      const std::uintptr_t frame_at = next + 8 * static_cast<std::uintptr_t>(step.frame_at);
      // Goes strictly upwards, so that the walk ends; every word that is read lies in between.
      if (next <= stack || !words.reaches(next) || return_at < stack || return_at > next - word) break;
      if (step.frame_saved) {
        if (frame_at < stack || frame_at > next - word || !words.has(frame_at)) break;
        frame.restore(read_word(frame_at), frame_at - caller.stack);
      }
#if defined(__x86_64__)
    } else if (step.rule == row::signal) {
      const std::uintptr_t frame_at = stack + saved_frame, stack_at = stack + saved_stack;
      return_at = stack + saved_address;
      if (!words.has(frame_at) || !words.has(stack_at) || !words.has(return_at)) break;
      next = read_word(stack_at);
      if (words.is_own() && words.is_in_own(next)) {
        if (next <= return_at) break;  // it only looks like a signal's frame
      } else {                         // the signal interrupted another stack
        words.leave_own();
        reads.forget();
        if (!words.has(next)) break;
      }
      reads.note(stack_at - caller.stack, next);
      reads.note(return_at - caller.stack, read_word(return_at));
      frame.restore(read_word(frame_at), frame_at - caller.stack);
      // An interrupted function stands at its next instruction; all others stand behind their call.
      frames[count++] = address = read_word(return_at) + 1;
      stack = next;
      continue;
#endif
    } else if (step.rule == row::unknown) {
      // Code made at run time and assembler have no rows. If they keep a frame pointer, it points to two words.
      const std::uintptr_t frame_start = frame.use();
      if (frame_start < stack || frame_start % word != 0 || frame_start - stack > words.room_above(stack) - 2 * word)
        break;
      if (!words.has(frame_start) || !words.has(frame_start + word)) break;
      next = frame_start + 2 * word;
      return_at = frame_start + word;
      frame.restore(read_word(frame_start), frame_start - caller.stack);
    } else {
      break;
    }
    if (!words.has(return_at)) break;
    address = read_word(return_at);
    reads.note(return_at - caller.stack, address);
    stack = next;
    if (address == 0) break;
    frames[count++] = address;
  }
  return count;
}

}  // namespace tarn::preload
