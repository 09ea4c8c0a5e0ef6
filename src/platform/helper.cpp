#include "platform/helper.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "base/bits.hpp"
#include "platform/lock_rank.hpp"
#include "platform/platform.hpp"
#include "platform/sanitizer.hpp"

namespace tarn::platform {

#if TARN_HAS_SANITIZER || !defined(__x86_64__)

bool start_helper(void (*)() noexcept) noexcept { return false; }
void forget_helper() noexcept {}
bool wait_for_helper_end(std::uint32_t) noexcept { return true; }

#else

namespace {

using namespace base::units;

constexpr std::size_t stack_bytes = 64_KiB;

// The data that the compiler and the C library expect at the thread pointer of x86-64. The C library's own record of
// the thread follows it, and reads as zero here.
struct control_block {
  control_block* self;      // %fs:0, for addresses of thread-local variables
  void* dynamic_variables;  // null: there are none
  control_block* thread;    // %fs:0x10, pthread_self()
  std::uintptr_t unused[2];
  std::uintptr_t canary;  // %fs:0x28, the stack protector's
  std::byte library_record[4_KiB];
};
static_assert(offsetof(control_block, canary) == 0x28);

// The kernel writes the helper's number here, and 0 when the helper has ended and its stack is free.
constinit std::atomic<pid_t> number{0};
static_assert(sizeof(number) == sizeof(pid_t));

// Keeps the helper's number after the kernel has written 0 above, because the kernel counts the thread for a moment
// longer.
constinit std::atomic<pid_t> last_number{0};

constinit char* memory = nullptr;  // guard page, stack, thread-local variables, control block
using helper_task = void (*)() noexcept;
constinit helper_task task = nullptr;

// Returns the calling thread's control block. Clang 16 has no __builtin_thread_pointer() for x86-64.
const control_block* thread_pointer() noexcept {
  const control_block* self;
  asm("mov %%fs:0, %0" : "=r"(self));
  return self;
}

// Returns the distance of a thread-local variable of the calling thread below the thread pointer. The variables of
// programs and libraries that are loaded at the start lie at the same distance in each thread.
std::size_t depth_of(const void* variable) noexcept {
  return static_cast<std::size_t>(reinterpret_cast<const char*>(thread_pointer()) - static_cast<const char*>(variable));
}

// errno is such a variable with glibc; with musl it lies in the C library's record.
std::size_t variable_bytes() noexcept {
  const std::size_t of_errno = &errno < static_cast<const void*>(thread_pointer()) ? depth_of(&errno) : 0;
  const std::size_t of_locks = held_locks::storage() == nullptr ? 0 : depth_of(held_locks::storage());
  return base::align_up((of_errno < of_locks ? of_locks : of_errno) + 64, page_bytes());
}

[[noreturn]] void run() noexcept {
  last_number.store(number.load(std::memory_order_relaxed), std::memory_order_relaxed);
  prctl(PR_SET_NAME, "tarn-purge");
  task();
  for (;;) syscall(SYS_exit, 0);
}

// Makes the system call clone(), after which a thread runs run() on a stack of its own; returns a negative number where
// there is none. The C library's function of that name refuses these flags since musl 1.2.5. The return address of
// run() is 0, where debuggers end a call stack.
long start_thread(long flags, char* stack_end, const control_block* block) noexcept {
  long result = SYS_clone;
  // They are not const, because GCC puts a constant into any register.
  register void* cleared_at_end asm("r10") = &number;
  register const control_block* pointer asm("r8") = block;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "push $0\n\t"
      "jmp *%[run]\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_end), "d"(&number), "r"(cleared_at_end), "r"(pointer), [run] "r"(&run)
      : "rcx", "r11", "cc", "memory");
  return result;
}

}  // namespace

bool start_helper(void (*work)() noexcept) noexcept {
  // acquire: the kernel's store of 0 comes after all that the last helper did on its stack.
  if (number.load(std::memory_order_acquire) != 0) return false;
  const int saved = errno;
  const std::size_t guard = page_bytes();
  const std::size_t variables = variable_bytes();
  const std::size_t bytes = guard + stack_bytes + variables + base::align_up(sizeof(control_block), guard);
  if (memory == nullptr) {
    memory = static_cast<char*>(map(bytes, guard));
    if (memory == nullptr) return false;
    mprotect(memory, guard, PROT_NONE);
  }
  char* const stack_end = memory + guard + stack_bytes;
  // In a forked child this is the state of a helper that the fork interrupted: its errno, the ranks of its locks.
  std::memset(stack_end, 0, variables + sizeof(control_block));
  auto* const block = reinterpret_cast<control_block*>(stack_end + variables);
  block->self = block->thread = block;
  block->canary = thread_pointer()->canary;
  task = work;

  // The helper starts with this thread's signal mask. Calls the kernel directly, because the C library's function does
  // not block two signals that it uses itself.
  std::uint64_t every_signal = ~std::uint64_t{0};
  std::uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every_signal, &before, sizeof every_signal);
  constexpr int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD |
                        CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;  // as of every other thread
  const bool has_started = start_thread(flags, stack_end, block) >= 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
  errno = saved;
  return has_started;
}

void forget_helper() noexcept {
  number.store(0, std::memory_order_relaxed);
  last_number.store(0, std::memory_order_relaxed);
}

// The kernel stores the number before the helper runs, and 0 when the helper has executed its last instruction. The
// thread disappears a moment later, and nothing signals that. A child that runs no handlers of a fork has copies of the
// numbers, which the kernel never clears there; so each round asks whether this process has such a thread.
//
// The kernel removes the thread's number first, and then the thread from its process, which unshare() looks at, both
// under one lock. waitid() takes that lock, so it returns when the thread has gone. It changes nothing here.
bool wait_for_helper_end(std::uint32_t max_ms) noexcept {
  const int saved = errno;
  std::uint64_t last_ms = 0;
  bool has_ended = false;
  for (;;) {
    // acquire: everything that the helper did is complete.
    const pid_t helper = number.load(std::memory_order_acquire);
    pid_t thread = helper != 0 ? helper : last_number.load(std::memory_order_relaxed);
    has_ended = thread == 0 || syscall(SYS_tgkill, getpid(), thread, 0) != 0;
    if (has_ended && thread != 0) {
      syscall(SYS_waitid, P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT, nullptr);
      last_number.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
    }
    const std::uint64_t now = has_ended || max_ms == 0 ? 0 : now_ms();
    if (last_ms == 0) last_ms = now + max_ms;
    if (has_ended || now >= last_ms) {
      if (helper == 0 && max_ms != 0) {  // another thread may have the number by now
        last_number.store(0, std::memory_order_relaxed);
      }
      break;
    }
    if (helper != 0) {  // not FUTEX_WAIT_PRIVATE, because the kernel's wake at the end of a thread is not private
      constexpr timespec round{0, 10'000'000};
      syscall(SYS_futex, &number, FUTEX_WAIT, helper, &round, nullptr, 0);
    } else {
      constexpr timespec moment{0, 20'000};
      nanosleep(&moment, nullptr);
    }
  }
  errno = saved;
  return has_ended;
}

#endif

}  // namespace tarn::platform
