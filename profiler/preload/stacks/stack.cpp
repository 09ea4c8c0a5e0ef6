#include "profiler/preload/stacks/stack.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/readable.hpp"
#include "profiler/preload/stacks/rows.hpp"
#include "profiler/unwind/walk.hpp"

extern "C" void* __libc_stack_end;  // the end of the main thread's stack; the loader sets it

namespace tarn::preload {
namespace {

constexpr std::uintptr_t word = sizeof(std::uintptr_t);

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

// Reads the program's own memory, and notes each word that the walk depends on. On the thread's own stack the words
// within its limits can be read, which are known; on any other stack (a fiber's, a signal's) those that the kernel can
// read. Nothing is remembered from walk to walk, as a fiber's memory may be gone, or smaller, when its addresses are
// used again.
class live_stack {
 public:
  live_stack(const stack_limits& limits, std::uintptr_t stack, stack_reads& reads, std::uintptr_t* stacks) noexcept
      : limits_(limits), is_own_(is_in_own(stack)), first_(stack), reads_(reads), stacks_(stacks) {
    if (stacks_ != nullptr) stacks_[0] = stack;
    if (!is_own_) reads.forget();
  }

  bool has(std::uintptr_t address) noexcept {
    if (is_own_) return address >= limits_.low && address <= limits_.high - word;
    return can_read(address) && can_read(address + word - 1);
  }
  std::uintptr_t read(std::uintptr_t address) const noexcept { return read_word(address); }
  bool reaches(std::uintptr_t stack) const noexcept { return !is_own_ || stack <= limits_.high; }
  std::uintptr_t room_above(std::uintptr_t stack) const noexcept {
    constexpr std::uintptr_t limit = std::uintptr_t{8} << 20;  // code without frame pointers keeps anything there
    return is_own_ ? limits_.high - stack : limit;
  }
  // Where a signal interrupted another stack, words within the limits are checked too from here on, as there may be no
  // memory yet below the stack pointer.
  bool enter_interrupted(std::uintptr_t stack, std::uintptr_t frame_end) noexcept {
    if (is_own_ && is_in_own(stack)) return stack > frame_end;
    is_own_ = false;
    reads_.forget();
    return has(stack);
  }
  void note(std::uintptr_t address, std::uintptr_t value) noexcept { reads_.note(address - first_, value); }
  void note_frame_register() noexcept { reads_.depends_on_frame = true; }
  void note_frame(std::size_t index, std::uintptr_t stack) noexcept {
    if (stacks_ != nullptr) stacks_[index] = stack;
  }

 private:
  bool is_in_own(std::uintptr_t stack) const noexcept { return stack >= limits_.low && stack < limits_.high; }

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
  std::uintptr_t first_;  // the first stack pointer
  stack_reads& reads_;
  std::uintptr_t* stacks_;                   // null: nobody asks for the frames' stack pointers
  std::uintptr_t known_page_ = UINTPTR_MAX;  // none
};

}  // namespace

std::size_t walk(const caller& caller, const stack_limits& limits, std::uintptr_t* frames, stack_reads& reads,
                 std::uintptr_t* stacks) noexcept {
  reads.count = 0;
  reads.depends_on_frame = false;
  live_stack memory(limits, caller.stack, reads, stacks);
  return unwind::walk(caller, memory, row_at, frames, format::max_frames);
}

}  // namespace tarn::preload
