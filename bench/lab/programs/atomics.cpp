// lab-atomics: counts the operations that limit an allocator on more processors than this machine has: the atomic
// read-modify-writes, the system calls and the instructions for each replaced block. A child does the work; its
// parent single-steps it and examines each instruction. remote=1: another thread allocated each block that is freed.
// Unit: one block replaced.
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "bench/front_malloc.hpp"
#include "bench/front_tarn.hpp"
#include "pinned.hpp"
#include "together.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::size_t slots = 1000;

struct tally {
  std::uint64_t instructions = 0, atomics = 0, calls = 0;
};

#if defined(__x86_64__)
/// Recognises an atomic instruction by its first bytes: a LOCK prefix, or an exchange with memory, which needs none.
bool is_atomic(const unsigned char* code) {
  std::size_t offset = 0;
  for (; offset < 4; ++offset) {
    if (code[offset] == 0xf0) return true;
    const bool is_prefix = code[offset] == 0x66 || code[offset] == 0x67 || code[offset] == 0xf2 ||
                           code[offset] == 0xf3 || code[offset] == 0x2e || code[offset] == 0x36 ||
                           code[offset] == 0x3e || code[offset] == 0x26 || code[offset] == 0x64 || code[offset] == 0x65;
    if (!is_prefix) break;
  }
  if ((code[offset] & 0xf0U) == 0x40) ++offset;                                            // REX
  return (code[offset] == 0x86 || code[offset] == 0x87) && (code[offset + 1] >> 6U) != 3;  // XCHG with memory
}

/// Counts from the child's first SIGUSR1 to its second.
tally follow(pid_t child) {
  const auto fail = [&](const std::string& reason) {
    kill(child, SIGKILL);
    lab::give_up("atomics", reason);
  };
  const auto wait = [&](int expected) {
    int status = 0;
    if (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == expected) return;
    fail(WIFEXITED(status) ? "ptrace is not permitted here"
                           : "the child did not stop at signal " + std::to_string(expected));
  };
  wait(SIGSTOP);
  if (ptrace(PTRACE_CONT, child, nullptr, nullptr) != 0) fail(std::string("ptrace: ") + std::strerror(errno));
  wait(SIGUSR1);
  tally counts;
  for (;;) {
    int status = 0;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 || waitpid(child, &status, 0) != child ||
        !WIFSTOPPED(status)) {
      fail("the child ended before its second SIGUSR1");
    }
    if (WSTOPSIG(status) == SIGUSR1) break;
    errno = 0;
    const long address =
        ptrace(PTRACE_PEEKUSER, child, reinterpret_cast<void*>(offsetof(user_regs_struct, rip)), nullptr);
    const long word = ptrace(PTRACE_PEEKTEXT, child, reinterpret_cast<void*>(address), nullptr);
    if (errno != 0) fail(std::string("the child's code cannot be read: ") + std::strerror(errno));
    unsigned char code[sizeof word];
    std::memcpy(code, &word, sizeof word);
    ++counts.instructions;
    if (is_atomic(code)) ++counts.atomics;
    if (code[0] == 0x0f && code[1] == 0x05) ++counts.calls;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  counts.calls -= std::min<std::uint64_t>(counts.calls, 1);
  return counts;
}
#else
tally follow(pid_t child) {
  kill(child, SIGKILL);
  lab::give_up("atomics", "instructions are counted on x86-64 only");
}
#endif

/// Blocks of 16 to 1,024 bytes, small ones more often; the size is kept beside the block.
template <class Front>
struct slot {
  void* block = nullptr;
  std::size_t size = 0;
  void fill(Front& front, bench::random_numbers& random) {
    size = bench::skewed_size(random.next());
    block = front.allocate(size);
    lab::mark(block, size);
  }
  void clear(Front& front) {
    if (block != nullptr) front.deallocate(block, size);
    block = nullptr;
  }
};

/// Never returns. Replaces `replaced` blocks between the two signals.
template <class Front>
[[noreturn]] void work(std::uint64_t warm, std::uint64_t replaced, bool is_remote) {
  static slot<Front> own_blocks[slots], others[slots];
  static Front front;
  std::atomic<bool> is_refilled{false};
  bench::random_numbers random(1);
  const auto turn = [&](std::uint64_t index) {
    slot<Front>& target = (is_remote ? others : own_blocks)[index % slots];
    target.clear(front);
    (is_remote ? own_blocks[index % slots] : target).clear(front);
    own_blocks[index % slots].fill(front, random);
  };
  // The other thread refills the blocks that are freed here, and has ended before the counting starts.
  const auto refill = [&] {
    std::thread([&] {
      Front thread_front;
      bench::random_numbers numbers(2);
      for (slot<Front>& refilled : others) {
        if (refilled.block == nullptr) refilled.fill(thread_front, numbers);
      }
    }).join();
  };
  const bench::idle_thread idle;
  for (std::uint64_t index = 0; index < warm; ++index) {
    if (is_remote && index % slots == 0) refill();
    turn(index);
  }
  if (is_remote) refill();
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
  raise(SIGSTOP);
  const pid_t self = getpid();
  raise(SIGUSR1);
  for (std::uint64_t index = 0; index < replaced; ++index) turn(index);
  kill(self, SIGUSR1);  // the only system call of the program itself
  _exit(0);
}

template <class Front>
outcome run(const settings& parameters) {
  const std::uint64_t replaced = parameters["replaced"];
  outcome result{.units = replaced};
  const lab::stopwatch watch;
  lab::pin("atomics", 0, 1);  // parent and child take turns: on one processor that is faster
  const pid_t child = fork();
  if (child < 0) lab::give_up("atomics", std::string("fork: ") + std::strerror(errno));
  if (child == 0) work<Front>(20 * slots, replaced, parameters["remote"] != 0);
  const tally counts = follow(child);
  watch.stop(result);
  result.checksum = replaced;
  const auto per_block = [&](std::uint64_t number) {
    return static_cast<double>(number) / static_cast<double>(replaced);
  };
  result.counts = {{"atomics", per_block(counts.atomics)},
                   {"calls", per_block(counts.calls)},
                   {"instructions", per_block(counts.instructions)}};
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "atomics",
                      {{.name = "replaced", .usual = 1000, .maximum = slots},
                       {.name = "remote", .usual = 0, .minimum = 0, .maximum = 1}},
                      {{"malloc", run<bench::malloc_front>}, {"allocator", run<bench::allocator_front>}});
}
