#include "profiler/preload/substitute.hpp"

#include <sys/prctl.h>

#include "profiler/preload/base/kernel_signals.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/count_calls.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {
namespace {

constexpr std::uint64_t ours = signal_bit(SIGSYS);

// Each call in progress that needs a substitution uses one. More than one is in use when signal handlers make such
// calls. A handler that jumps out of a call leaves its substitution in use; when none is free, the oldest is reused.
constinit thread_local substitution pool[8] = {};
constinit thread_local unsigned next_of_pool = 0;

// Holds the program's action for SIGSYS, which only pass_on() follows.
constinit lock changing;
constinit kernel_action programs_action = {};

// Replaces a thread's signal stack when the program's own is small: the handler of SIGSYS lies on it too, and below
// the program's handlers when these make calls.
constexpr std::uint64_t smallest = 2048, enlarged = 64 << 10;
struct kernel_stack {
  void* start;
  std::uint64_t flags;
  std::uint64_t bytes;
};
constinit thread_local void* large_stack = nullptr;
constinit thread_local kernel_stack programs_stack = {}, wanted_stack = {};

// The unused signal stacks, as a list: the first word of each has the address of the next one. Each change is one
// store, so a child of fork always finds an intact list.
constinit lock keeping_stacks;
constinit void* unused_stacks = nullptr;

void* take_stack() noexcept {
  const holding guard(keeping_stacks);
  if (unused_stacks == nullptr) return map(enlarged);
  void* const stack = unused_stacks;
  unused_stacks = *static_cast<void**>(stack);
  return stack;
}
void return_stack() noexcept {
  const holding guard(keeping_stacks);
  *static_cast<void**>(large_stack) = unused_stacks;
  unused_stacks = large_stack;
  large_stack = nullptr;
}

bool runs_on_large_stack() noexcept {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return frame - reinterpret_cast<std::uintptr_t>(large_stack) < enlarged;
}

substitution* take_one(long* arguments, std::uint8_t argument) noexcept {
  substitution* slot = nullptr;
  for (substitution& candidate : pool) {
    if (!candidate.is_used) slot = &candidate;
  }
  if (slot == nullptr) slot = &pool[next_of_pool++ % (sizeof pool / sizeof *pool)];
  slot->is_used = true;
  slot->argument = argument;
  slot->original = arguments[argument];
  return slot;
}

std::uint64_t word_at(long address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }
bool has_ours(long set) noexcept { return is_readable(set, sizeof ours) && (word_at(set) & ours) != 0; }

substitution* with_copy(long* arguments, std::uint8_t argument) noexcept {
  substitution* const substitution = take_one(arguments, argument);
  arguments[argument] = reinterpret_cast<long>(substitution->copy);
  return substitution;
}

substitution* without_ours(long* arguments, std::uint8_t argument) noexcept {
  if (!has_ours(arguments[argument])) return nullptr;
  const std::uint64_t set = word_at(arguments[argument]);
  substitution* const substitution = with_copy(arguments, argument);
  substitution->copy[0] = set & ~ours;
  return substitution;
}

// pselect6 takes a pointer to a pointer and a size.
substitution* without_ours_behind(long* arguments) noexcept {
  constexpr std::uint8_t argument = 5;
  if (!is_readable(arguments[argument], 16)) return nullptr;
  const auto set = static_cast<long>(word_at(arguments[argument]));
  if (!has_ours(set)) return nullptr;
  const std::uint64_t size = word_at(arguments[argument] + 8);
  substitution* const substitution = with_copy(arguments, argument);
  substitution->copy[0] = reinterpret_cast<std::uintptr_t>(&substitution->copy[2]);
  substitution->copy[1] = size;
  substitution->copy[2] = word_at(set) & ~ours;
  return substitution;
}

substitution* action_without_ours(long* arguments) noexcept {
  if (!is_readable(arguments[1], sizeof(kernel_action))) return nullptr;
  auto action = *reinterpret_cast<const kernel_action*>(arguments[1]);
  if ((action.mask & ours) == 0) return nullptr;
  action.mask &= ~ours;
  substitution* const substitution = with_copy(arguments, 1);
  static_assert(sizeof substitution->copy == sizeof action);
  __builtin_memcpy(substitution->copy, &action, sizeof action);
  return substitution;
}

substitution* larger_stack(long* arguments) noexcept {
  const bool has_new_stack = is_readable(arguments[0], sizeof(kernel_stack));
  if (!has_new_stack) return large_stack == nullptr ? nullptr : take_one(arguments, 0);
  auto new_stack = *reinterpret_cast<const kernel_stack*>(arguments[0]);
  const bool is_small =
      (new_stack.flags & SS_DISABLE) == 0 && new_stack.bytes >= smallest && new_stack.bytes < enough_signal_stack;
  if (is_small && large_stack == nullptr) {
    large_stack = take_stack();
    thread::outlive_dispatch();  // so that give_back_signal_stack() is called
  }
  if (!is_small || large_stack == nullptr) return large_stack == nullptr ? nullptr : take_one(arguments, 0);
  wanted_stack = new_stack;
  new_stack.start = large_stack;
  new_stack.bytes = enlarged;
  substitution* const substitution = with_copy(arguments, 0);
  __builtin_memcpy(substitution->copy, &new_stack, sizeof new_stack);
  return substitution;
}

void after_stack(const substitution& substitution, const long* arguments, bool was_changed) noexcept {
  if (arguments[1] != 0) {
    auto& old = *reinterpret_cast<kernel_stack*>(arguments[1]);
    if (old.start == large_stack) old.start = programs_stack.start, old.bytes = programs_stack.bytes;
  }
  const bool is_ours = was_changed && substitution.copy[0] == reinterpret_cast<std::uintptr_t>(large_stack);
  if (is_ours) programs_stack = wanted_stack;
  // The kernel refuses to change a stack that is in use, but for one that each handler disarms.
  constexpr std::uint64_t disarms = std::uint64_t{1} << 31;  // SS_AUTODISARM, which the C library does not name
  if (is_ours || arguments[0] == 0 || large_stack == nullptr || (programs_stack.flags & disarms) != 0) return;
  if (!runs_on_large_stack()) return_stack();
}

}  // namespace

void begin_substitutions_anew() noexcept {
  changing.begin_anew();
  keeping_stacks.begin_anew();
}

void give_back_signal_stack() noexcept {
  if (large_stack == nullptr || runs_on_large_stack()) return;
  const kernel_stack disabled = {nullptr, SS_DISABLE, 0};
  if (own_call(SYS_sigaltstack, &disabled, nullptr) == 0) return_stack();
}

substitution* substitute(long number, long* arguments) noexcept {
  switch (number) {
    case SYS_rt_sigprocmask: return arguments[0] == SIG_UNBLOCK ? nullptr : without_ours(arguments, 1);
    case SYS_rt_sigaction: return action_without_ours(arguments);
    case SYS_rt_sigsuspend: return without_ours(arguments, 0);
    case SYS_ppoll: return without_ours(arguments, 3);
    case SYS_pselect6: return without_ours_behind(arguments);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return without_ours(arguments, 4);
    case SYS_sigaltstack: return larger_stack(arguments);
    default: return nullptr;
  }
}

void restore(substitution& substitution, long number, long* arguments, long result) noexcept {
  const bool was_changed = arguments[substitution.argument] == reinterpret_cast<long>(substitution.copy);
  arguments[substitution.argument] = substitution.original;
  if (number == SYS_sigaltstack && result == 0) after_stack(substitution, arguments, was_changed);
  substitution.is_used = false;
}

bool answer(long number, const long* arguments, long& result) noexcept {
  if (number == SYS_prctl && arguments[0] == PR_SET_SYSCALL_USER_DISPATCH) {
    result = -EINVAL;  // a kernel without the dispatch answers this
    return true;
  }
  if (number != SYS_rt_sigaction || arguments[0] != SIGSYS) return false;
  constexpr int never_set = SIGKILL;  // the kernel reads and writes what the program points to, and changes nothing
  result = arguments[2] == 0 ? 0 : raw_call(number, never_set, nullptr, arguments[2], arguments[3]);
  if (result != 0) return true;
  if (arguments[1] != 0)
    result = raw_call(number, never_set, arguments[1], nullptr, arguments[3]) == -EFAULT ? -EFAULT : 0;
  if (result != 0) return true;
  const kernel_action action =
      arguments[1] == 0 ? kernel_action{} : *reinterpret_cast<const kernel_action*>(arguments[1]);
  const holding guard(changing);
  if (arguments[2] != 0) *reinterpret_cast<kernel_action*>(arguments[2]) = programs_action;
  if (arguments[1] != 0) programs_action = action;
  return true;
}

void adopt_action(const kernel_action& action) noexcept {
  const holding guard(changing);
  programs_action = action;
}

void unblock(ucontext_t& frame) noexcept { frame.uc_sigmask.__val[0] &= ~ours; }

void pass_on(int signal, void* information, void* context) noexcept {
  kernel_action action;
  {
    const holding guard(changing);
    action = programs_action;
    if ((action.flags & SA_RESETHAND) != 0) programs_action = {};
  }
  if (action.handler == reinterpret_cast<void*>(SIG_IGN)) return;
  if (action.handler == reinterpret_cast<void*>(SIG_DFL)) {
    const kernel_action default_action{};
    raw_call(SYS_rt_sigaction, signal, &default_action, nullptr, 8);
    raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), signal);
    return;
  }
  const std::uint64_t mask = (static_cast<const ucontext_t*>(context)->uc_sigmask.__val[0] | action.mask) & ~ours;
  own_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, 8);  // if it is skipped, more signals stay blocked
  reinterpret_cast<void (*)(int, void*, void*)>(action.handler)(signal, information, context);
  // The handler returned to us and not to its own restorer, which would have made a call.
  const std::uint64_t other_signals = ~ours;
  own_call(SYS_rt_sigprocmask, SIG_BLOCK, &other_signals, nullptr, 8);
  constexpr std::uintptr_t instructions = 9;
  const greg_t* const registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const long arguments[6] = {};
  call_begins({reinterpret_cast<std::uintptr_t>(action.restorer) + instructions,
               static_cast<std::uintptr_t>(registers[REG_RSP]), static_cast<std::uintptr_t>(registers[REG_RBP])},
              SYS_rt_sigreturn, arguments);
}

}  // namespace tarn::preload
