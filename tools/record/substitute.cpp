#include "record/substitute.hpp"

#include <sys/prctl.h>

#include "record/count_calls.hpp"
#include "record/kernel_signals.hpp"
#include "record/lock.hpp"
#include "record/memory.hpp"

namespace tarn::record {
namespace {

constexpr std::uint64_t ours = signal_bit(SIGSYS);

// Each call that is being made and needs a substitution takes one; more than one is in use where signal handlers make
// such calls. A handler that jumps out of a call leaves its substitution used; when none is free, the oldest are used
// again.
constinit thread_local substitution pool[8] = {};
constinit thread_local unsigned next_of_pool = 0;

// Holds the program's action for SIGSYS, which only pass_on() follows.
constinit lock changing;
constinit kernel_action programs_action = {};

// Replaces a thread's signal stack when the program's own is small: the handler of SIGSYS lies on it too, and below
// the program's handlers when these make calls.
constexpr std::uint64_t smallest = 2048, enough = 32 << 10, enlarged = 64 << 10;
struct kernel_stack {
  void* start;
  std::uint64_t flags;
  std::uint64_t bytes;
};
constinit thread_local void* large_stack = nullptr;
constinit thread_local kernel_stack programs_stack = {}, wanted_stack = {};

substitution* take_one(long* words, std::uint8_t argument) noexcept {
  substitution* found = nullptr;
  for (substitution& each : pool) {
    if (!each.used) found = &each;
  }
  if (found == nullptr) found = &pool[next_of_pool++ % (sizeof pool / sizeof *pool)];
  found->used = true;
  found->argument = argument;
  found->original = words[argument];
  return found;
}

std::uint64_t word_at(long address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }
bool has_ours(long set) noexcept { return is_readable(set, sizeof ours) && (word_at(set) & ours) != 0; }

substitution* with_copy(long* words, std::uint8_t argument) noexcept {
  substitution* const made = take_one(words, argument);
  words[argument] = reinterpret_cast<long>(made->copy);
  return made;
}

substitution* without_ours(long* words, std::uint8_t argument) noexcept {
  if (!has_ours(words[argument])) return nullptr;
  const std::uint64_t set = word_at(words[argument]);
  substitution* const made = with_copy(words, argument);
  made->copy[0] = set & ~ours;
  return made;
}

// pselect6 takes a pointer to a pointer and a size.
substitution* without_ours_behind(long* words) noexcept {
  constexpr std::uint8_t argument = 5;
  if (!is_readable(words[argument], 16)) return nullptr;
  const auto set = static_cast<long>(word_at(words[argument]));
  if (!has_ours(set)) return nullptr;
  const std::uint64_t size = word_at(words[argument] + 8);
  substitution* const made = with_copy(words, argument);
  made->copy[0] = reinterpret_cast<std::uintptr_t>(&made->copy[2]);
  made->copy[1] = size;
  made->copy[2] = word_at(set) & ~ours;
  return made;
}

substitution* action_without_ours(long* words) noexcept {
  if (!is_readable(words[1], sizeof(kernel_action))) return nullptr;
  auto action = *reinterpret_cast<const kernel_action*>(words[1]);
  if ((action.mask & ours) == 0) return nullptr;
  action.mask &= ~ours;
  substitution* const made = with_copy(words, 1);
  static_assert(sizeof made->copy == sizeof action);
  __builtin_memcpy(made->copy, &action, sizeof action);
  return made;
}

substitution* larger_stack(long* words) noexcept {
  const bool sets = is_readable(words[0], sizeof(kernel_stack));
  if (!sets) return large_stack == nullptr ? nullptr : take_one(words, 0);
  auto wanted = *reinterpret_cast<const kernel_stack*>(words[0]);
  const bool is_small = (wanted.flags & SS_DISABLE) == 0 && wanted.bytes >= smallest && wanted.bytes < enough;
  if (is_small && large_stack == nullptr) large_stack = map(enlarged);
  if (!is_small || large_stack == nullptr) return large_stack == nullptr ? nullptr : take_one(words, 0);
  wanted_stack = wanted;
  wanted.start = large_stack;
  wanted.bytes = enlarged;
  substitution* const made = with_copy(words, 0);
  __builtin_memcpy(made->copy, &wanted, sizeof wanted);
  return made;
}

void after_stack(const substitution& of, const long* words, bool changed) noexcept {
  if (words[1] != 0) {
    auto& old = *reinterpret_cast<kernel_stack*>(words[1]);
    if (old.start == large_stack) old.start = programs_stack.start, old.bytes = programs_stack.bytes;
  }
  if (changed && of.copy[0] == reinterpret_cast<std::uintptr_t>(large_stack)) programs_stack = wanted_stack;
}

}  // namespace

void begin_substitutions_anew() noexcept { changing.begin_anew(); }

substitution* substitute(long number, long* words) noexcept {
  switch (number) {
    case SYS_rt_sigprocmask: return words[0] == SIG_UNBLOCK ? nullptr : without_ours(words, 1);
    case SYS_rt_sigaction: return action_without_ours(words);
    case SYS_rt_sigsuspend: return without_ours(words, 0);
    case SYS_ppoll: return without_ours(words, 3);
    case SYS_pselect6: return without_ours_behind(words);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return without_ours(words, 4);
    case SYS_sigaltstack: return larger_stack(words);
    default: return nullptr;
  }
}

void restore(substitution& of, long number, long* words, long result) noexcept {
  const bool changed = words[of.argument] == reinterpret_cast<long>(of.copy);
  words[of.argument] = of.original;
  if (number == SYS_sigaltstack && result == 0) after_stack(of, words, changed);
  of.used = false;
}

bool answer(long number, const long* words, long& result) noexcept {
  if (number == SYS_prctl && words[0] == PR_SET_SYSCALL_USER_DISPATCH) {
    result = -EINVAL;  // a kernel without the dispatch answers this
    return true;
  }
  if (number != SYS_rt_sigaction || words[0] != SIGSYS) return false;
  constexpr int never_set = SIGKILL;  // the kernel reads and writes what the program points to, and changes nothing
  result = words[2] == 0 ? 0 : raw_call(number, never_set, nullptr, words[2], words[3]);
  if (result != 0) return true;
  if (words[1] != 0) result = raw_call(number, never_set, words[1], nullptr, words[3]) == -EFAULT ? -EFAULT : 0;
  if (result != 0) return true;
  const kernel_action action = words[1] == 0 ? kernel_action{} : *reinterpret_cast<const kernel_action*>(words[1]);
  const holding held(changing);
  if (words[2] != 0) *reinterpret_cast<kernel_action*>(words[2]) = programs_action;
  if (words[1] != 0) programs_action = action;
  return true;
}

void unblock(ucontext_t& frame) noexcept { frame.uc_sigmask.__val[0] &= ~ours; }

void pass_on(int signal, void* information, void* context) noexcept {
  kernel_action action;
  {
    const holding held(changing);
    action = programs_action;
    if ((action.flags & SA_RESETHAND) != 0) programs_action = {};
  }
  if (action.handler == reinterpret_cast<void*>(SIG_IGN)) return;
  if (action.handler == reinterpret_cast<void*>(SIG_DFL)) {
    const kernel_action none{};
    raw_call(SYS_rt_sigaction, signal, &none, nullptr, 8);
    raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), signal);
    return;
  }
  const std::uint64_t mask = (static_cast<const ucontext_t*>(context)->uc_sigmask.__val[0] | action.mask) & ~ours;
  own_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, 8);  // if it is skipped, more signals stay blocked
  reinterpret_cast<void (*)(int, void*, void*)>(action.handler)(signal, information, context);
  // The handler returned to us and not to its own restorer, which would have made a call.
  const std::uint64_t all = ~ours;
  own_call(SYS_rt_sigprocmask, SIG_BLOCK, &all, nullptr, 8);
  constexpr std::uintptr_t instructions = 9;
  const greg_t* const at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const long words[6] = {};
  call_begins({reinterpret_cast<std::uintptr_t>(action.restorer) + instructions,
               static_cast<std::uintptr_t>(at[REG_RSP]), static_cast<std::uintptr_t>(at[REG_RBP])},
              SYS_rt_sigreturn, words);
}

}  // namespace tarn::record
