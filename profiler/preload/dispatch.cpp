#include "profiler/preload/dispatch.hpp"

#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <atomic>

#include "profiler/preload/base/kernel_signals.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/count_calls.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/records/open_use.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/seccomp.hpp"
#include "profiler/preload/substitute.hpp"
#include "profiler/preload/windows.hpp"

// exempt.S defines these.
extern "C" {
extern const char tarn_exempt_begin[], tarn_exempt_end[];
extern const char tarn_call[], tarn_call_instruction[], tarn_signal_return[];
extern const char tarn_clone_process[], tarn_clone_thread[];
extern std::uintptr_t tarn_clone_back[];
// hooked_functions.S defines this: the address behind the call of our vfork().
extern const char tarn_vfork_made[];
// seccomp.cpp defines this.
extern unsigned char tarn_selector;
}

namespace tarn::preload {
namespace {

constexpr std::size_t slots = 64;  // for each of the two kinds
constinit lock clone_slot_lock;

// Returns the address in exempt.S that makes a clone and then returns to `return_address`. The same return address
// always gets the same slot, so any number of threads may use it at once. Returns 0 when all slots are taken.
std::uintptr_t clone_slot(std::uintptr_t return_address, bool is_thread) noexcept {
  const holding guard(clone_slot_lock);
  const std::size_t first = is_thread ? slots : 0;
  for (std::size_t index = 0; index < slots; ++index) {
    if (tarn_clone_back[first + index] == 0) tarn_clone_back[first + index] = return_address;
    if (tarn_clone_back[first + index] == return_address) {
      return is_thread ? reinterpret_cast<std::uintptr_t>(tarn_clone_thread) + 32 * index
                       : reinterpret_cast<std::uintptr_t>(tarn_clone_process) + 16 * index;
    }
  }
  return 0;
}

// Returns true when the C library made the thread with this future thread pointer: it stores the pointer in the first
// and the third word there. Only then do our thread-local variables lie below it. A thread of another run time is not
// dispatched, because the recorder has no thread-local memory there.
bool is_of_c_library(std::uint64_t thread_pointer) noexcept {
  constexpr std::uint64_t word_count = 3, alignment = 64;
  if (thread_pointer % alignment != 0 || !is_readable(static_cast<long>(thread_pointer), word_count * 8)) return false;
  const auto* const word = reinterpret_cast<const std::uint64_t*>(thread_pointer);
  return word[0] == thread_pointer && word[2] == thread_pointer;
}

// Returns true when the call makes a process or thread that shares our memory. `clone_address` is then the code in
// exempt.S that makes the call, or 0 when none is left.
bool shares_memory(long number, const long* arguments, std::uintptr_t return_address,
                   std::uintptr_t& clone_address) noexcept {
  std::uint64_t flags = 0, thread_pointer = 0;
  if (number == SYS_vfork) {
    flags = CLONE_VM | CLONE_VFORK;
  } else if (number == SYS_clone) {
    flags = static_cast<std::uint64_t>(arguments[0]);
    thread_pointer = static_cast<std::uint64_t>(arguments[4]);
  } else if (number == SYS_clone3 && is_readable(arguments[0], sizeof(clone_args))) {
    flags = reinterpret_cast<const clone_args*>(arguments[0])->flags;
    thread_pointer = reinterpret_cast<const clone_args*>(arguments[0])->tls;
  }
  if ((flags & CLONE_VM) == 0) return false;  // a child with a copy of the stack needs no special code
  const bool is_thread = (flags & CLONE_THREAD) != 0 && (flags & CLONE_SETTLS) != 0 && is_of_c_library(thread_pointer);
  clone_address = clone_slot(return_address, is_thread);
  if (is_thread) inherit_window(thread_pointer);
  return true;
}

// tarn_call keeps the carried value in memory, this many bytes above its stack pointer.
constexpr std::uintptr_t carried_at = 8;

// `frame` is the context that a signal interrupted and to which its handler returns. If the kernel restarts a call
// there (SA_RESTART), that call counts again.
void end_of_handler(ucontext_t& frame) noexcept {
  unblock(frame);
  const greg_t* const registers = frame.uc_mcontext.gregs;
  if (registers[REG_RIP] != static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(tarn_call_instruction))) return;
  const auto carried =
      *reinterpret_cast<const std::uintptr_t*>(static_cast<std::uintptr_t>(registers[REG_RSP]) + carried_at);
  if (format::call_cell* const cell = cell_of(carried)) {
    if (is_recorded()) cell->value[format::calls].fetch_add(weight_of(carried), std::memory_order_relaxed);
  }
}

// Returns true when the code at `address` is of the C library, whose functions that set signals are wrapped.
bool is_in_c_library(std::uintptr_t address) noexcept {
  dl_find_object of_address{}, of_library{};
  return ::_dl_find_object(reinterpret_cast<void*>(address), &of_address) == 0 &&
         ::_dl_find_object(reinterpret_cast<void*>(::pthread_self), &of_library) == 0 &&
         of_address.dlfo_link_map == of_library.dlfo_link_map;
}

void handle(ucontext_t& context) noexcept {
  greg_t* const registers = context.uc_mcontext.gregs;
  const long number = registers[REG_RAX];
  long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                       registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  const auto return_address = static_cast<std::uintptr_t>(registers[REG_RIP]);
  const auto stack = static_cast<std::uintptr_t>(registers[REG_RSP]);
  const bool is_our_vfork = return_address == reinterpret_cast<std::uintptr_t>(tarn_vfork_made);
  const auto caller_address = is_our_vfork ? static_cast<std::uintptr_t>(registers[REG_RDI]) : return_address;
  const counted_call call =
      call_begins({caller_address, stack, static_cast<std::uintptr_t>(registers[REG_RBP])}, number, arguments);
  calls_are_restricted(restriction_by(number, arguments));  // for a call that does not go through the C library
  const auto go_to = [&](std::uintptr_t address) { registers[REG_RIP] = static_cast<greg_t>(address); };
  if (number == SYS_rt_sigreturn) {
    end_of_handler(*reinterpret_cast<ucontext_t*>(stack));
    return go_to(reinterpret_cast<std::uintptr_t>(tarn_signal_return));
  }
  std::uintptr_t clone_address = 0;
  if (shares_memory(number, arguments, return_address, clone_address)) {
    if (clone_address == 0) {
      registers[REG_RAX] = -EAGAIN;
    } else {
      go_to(clone_address);
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
  registers[REG_R11] = static_cast<greg_t>(carried_value(call));
  if (substitution* const replacement = substitute(number, arguments)) {
    replacement->cell = call.cell;
    // A run time that sets its signals by its own instructions may do so again while it is not dispatched.
    if (number == SYS_rt_sigaction && !is_in_c_library(return_address)) dispatch_always();
    registers[REG_R11] = static_cast<greg_t>(carried_value(call, replacement));
    constexpr int argument_registers[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    registers[argument_registers[replacement->argument]] = arguments[replacement->argument];
  }
  // The calls that end a thread or a program do not return.
  if (call.cell != nullptr && number != SYS_exit && number != SYS_exit_group) {
    if (thread* const self = thread::current_in_signal(stack))
      open(self->counts().call, call.cell->key.load(std::memory_order_relaxed), clock_ticks());
  }
  go_to(reinterpret_cast<std::uintptr_t>(tarn_call));
}

void on_signal(int signal, siginfo_t* information, void* context) noexcept {
  constexpr int dispatched = 2;  // SYS_USER_DISPATCH, which the C library does not name
  if (information->si_code != dispatched) return pass_on(signal, information, context);
  const work_timer timer(format::dispatch_ticks);
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

namespace {

// All other signals wait until the handler ends. It runs on the program's signal stack where there is one, as some
// programs have no room for a signal on their other stacks.
kernel_action own_action() noexcept {
  return {reinterpret_cast<void*>(on_signal), SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER,
          const_cast<char*>(tarn_signal_return), ~signal_bit(SIGSYS)};
}

}  // namespace

long turn_dispatch_on() noexcept {
  // While its calls were not dispatched, the program may have blocked SIGSYS; a dispatched call would then end it.
  const std::uint64_t dispatch_signal = signal_bit(SIGSYS);
  const long problem = raw_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &dispatch_signal, nullptr, sizeof dispatch_signal);
  return problem != 0 ? problem
                      : raw_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, tarn_exempt_begin,
                                 tarn_exempt_end - tarn_exempt_begin, &tarn_selector);
}

long turn_dispatch_off() noexcept {
  return raw_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
}

void keep_handler() noexcept {
  kernel_action present{};
  if (raw_call(SYS_rt_sigaction, SIGSYS, nullptr, &present, 8) != 0) return;
  const kernel_action expected = own_action();
  if (present.handler == expected.handler) return;
  adopt_action(present);
  raw_call(SYS_rt_sigaction, SIGSYS, &expected, nullptr, 8);
}

void start_dispatch() noexcept {
  clone_slot_lock.begin_anew();
  begin_substitutions_anew();
  { const entry guard; }  // makes this thread's record
  const kernel_action action = own_action();
  long problem = raw_call(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof action.mask);
  if (problem == 0) problem = turn_dispatch_on();
  if (problem < 0) return header().call_problem.store(static_cast<std::uint32_t>(-problem), std::memory_order_relaxed);
  begin_windows();
}

}  // namespace tarn::preload
