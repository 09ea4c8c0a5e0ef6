#include "profiler/preload/dispatch.hpp"

#include <linux/audit.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <atomic>
#include <bit>

#include "profiler/preload/base/kernel_signals.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/count_calls.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/region.hpp"
#include "profiler/preload/seccomp.hpp"
#include "profiler/preload/substitute.hpp"

// exempt.S defines these.
extern "C" {
extern const char tarn_exempt_begin[], tarn_exempt_end[];
extern const char tarn_call[], tarn_call_instruction[], tarn_signal_return[];
extern const char tarn_clone_process[], tarn_clone_thread[];
extern std::uintptr_t tarn_clone_back[];
// seccomp.cpp defines this.
extern unsigned char tarn_selector;
}

namespace tarn::preload {
namespace {

constexpr std::size_t slots = 64;  // for each of the two kinds
constinit lock taking_places;

// Returns the address in exempt.S that makes a clone for a caller at `back` and then returns there. The same `back`
// always gets the same slot, so any number of threads may use it at once. Returns 0 when all slots are taken.
std::uintptr_t clone_place(std::uintptr_t back, bool of_thread) noexcept {
  const holding held(taking_places);
  const std::size_t first = of_thread ? slots : 0;
  for (std::size_t index = 0; index < slots; ++index) {
    if (tarn_clone_back[first + index] == 0) tarn_clone_back[first + index] = back;
    if (tarn_clone_back[first + index] == back) {
      return of_thread ? reinterpret_cast<std::uintptr_t>(tarn_clone_thread) + 32 * index
                       : reinterpret_cast<std::uintptr_t>(tarn_clone_process) + 16 * index;
    }
  }
  return 0;
}

// Returns true when the call makes a process or thread that shares our memory. `place` is then the code in exempt.S
// that makes the call, or 0 when none is left.
bool shares_memory(long number, const long* arguments, std::uintptr_t back, std::uintptr_t& place) noexcept {
  std::uint64_t flags = 0;
  if (number == SYS_vfork) {
    flags = CLONE_VM | CLONE_VFORK;
  } else if (number == SYS_clone) {
    flags = static_cast<std::uint64_t>(arguments[0]);
  } else if (number == SYS_clone3 && is_readable(arguments[0], sizeof(clone_args))) {
    flags = reinterpret_cast<const clone_args*>(arguments[0])->flags;
  }
  if ((flags & CLONE_VM) == 0) return false;  // a child with a copy of the stack needs no special code
  const bool is_thread = (flags & CLONE_THREAD) != 0 && (flags & CLONE_SETTLS) != 0;
  place = clone_place(back, is_thread);
  return true;
}

// tarn_call keeps the carried value in memory, this many bytes above its stack pointer.
constexpr std::uintptr_t carried_at = 8;

// `frame` is the context that a signal interrupted and that its handler returns to. When it stands at a call that the
// kernel makes again (SA_RESTART), that call counts once more.
void end_of_handler(ucontext_t& frame) noexcept {
  unblock(frame);
  const greg_t* const registers = frame.uc_mcontext.gregs;
  if (registers[REG_RIP] != static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(tarn_call_instruction))) return;
  const auto carried =
      *reinterpret_cast<const std::uintptr_t*>(static_cast<std::uintptr_t>(registers[REG_RSP]) + carried_at);
  if (format::call_cell* const cell = cell_of(carried)) {
    if (is_recorded()) cell->value[format::calls].fetch_add(1, std::memory_order_relaxed);
  }
}

void handle(ucontext_t& context) noexcept {
  greg_t* const registers = context.uc_mcontext.gregs;
  const long number = registers[REG_RAX];
  long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                       registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  const auto back = static_cast<std::uintptr_t>(registers[REG_RIP]);
  const auto stack = static_cast<std::uintptr_t>(registers[REG_RSP]);
  format::call_cell* const cell =
      call_begins({back, stack, static_cast<std::uintptr_t>(registers[REG_RBP])}, number, arguments);
  calls_are_restricted(restriction_by(number, arguments));  // for a call that does not go through the C library
  const auto go_to = [&](std::uintptr_t place) { registers[REG_RIP] = static_cast<greg_t>(place); };
  if (number == SYS_rt_sigreturn) {
    end_of_handler(*reinterpret_cast<ucontext_t*>(stack));
    return go_to(reinterpret_cast<std::uintptr_t>(tarn_signal_return));
  }
  std::uintptr_t place = 0;
  if (shares_memory(number, arguments, back, place)) {
    if (place == 0) {
      registers[REG_RAX] = -EAGAIN;
    } else {
      go_to(place);
    }
    return;
  }
  long result = 0;
  if (answer(number, arguments, result)) {
    registers[REG_RAX] = result;
    return;
  }
  if (number == SYS_exit) {
    if (thread* const self = thread::current_in_signal(stack)) self->leave();
  }
  registers[REG_RCX] = registers[REG_RIP];
  registers[REG_R11] = std::bit_cast<greg_t>(cell);
  if (substitution* const instead = substitute(number, arguments)) {
    instead->cell = cell;
    registers[REG_R11] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(instead) | is_substitution);
    constexpr int argument_registers[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    registers[argument_registers[instead->argument]] = arguments[instead->argument];
  }
  go_to(reinterpret_cast<std::uintptr_t>(tarn_call));
}

void on_signal(int signal, siginfo_t* information, void* context) noexcept {
  constexpr int dispatched = 2;  // SYS_USER_DISPATCH, which the C library does not name
  if (information->si_code != dispatched) return pass_on(signal, information, context);
  auto& frame = *static_cast<ucontext_t*>(context);
  if (information->si_arch != AUDIT_ARCH_X86_64) {  // int $0x80 has other call numbers
    frame.uc_mcontext.gregs[REG_RAX] = -ENOSYS;
    return;
  }
  handle(frame);
}

[[gnu::constructor]] void begin() noexcept {
  // Looks up the next allocator first: threads that have their counts call it without asking whether it is known.
  if (records(format::call_kind) && next() != nullptr) start_dispatch();
}

}  // namespace

void start_dispatch() noexcept {
  taking_places.begin_anew();
  begin_substitutions_anew();
  { const entry guard; }  // makes this thread's record
  // All other signals wait until the handler ends. It runs on the program's signal stack where there is one, as some
  // programs have no room for a signal on their other stacks.
  const kernel_action action{reinterpret_cast<void*>(on_signal), SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER,
                             const_cast<char*>(tarn_signal_return), ~signal_bit(SIGSYS)};
  const std::uint64_t only = signal_bit(SIGSYS);
  long problem = raw_call(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof only);
  if (problem == 0) problem = raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, nullptr, sizeof only);
  if (problem == 0) {
    problem = raw_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, tarn_exempt_begin,
                       tarn_exempt_end - tarn_exempt_begin, &tarn_selector);
  }
  if (problem < 0) header().call_problem.store(static_cast<std::uint32_t>(-problem), std::memory_order_relaxed);
}

}  // namespace tarn::preload
