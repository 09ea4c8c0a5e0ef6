#include "profiler/collect/lasting_wait_watch.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "profiler/collect/namespaces.hpp"
#include "profiler/collect/thread_names.hpp"
#include "profiler/cpu/waiting_thread.hpp"

namespace tarn::command {
namespace {

using format::awaited;

// The arguments of a wait for a word to change.
struct futex_call {
  std::uint64_t address = 0, operation = 0, value = 0, limit = 0;
  std::uint64_t command() const { return operation & FUTEX_CMD_MASK; }
  bool is_wait() const { return command() == FUTEX_WAIT || command() == FUTEX_WAIT_BITSET || is_for_priority_mutex(); }
  bool is_for_priority_mutex() const { return command() == FUTEX_LOCK_PI || command() == FUTEX_LOCK_PI2; }
};

std::optional<futex_call> futex_call_of(const std::string& line) {
  std::istringstream fields(line);
  long number = -1;
  futex_call call;
  fields >> number >> std::hex >> call.address >> call.operation >> call.value >> call.limit;
  if (!fields || number != SYS_futex || !call.is_wait()) return std::nullopt;
  call.value &= 0xffffffff;
  return call;
}

template <class Object>
std::optional<Object> read_object(pid_t process, std::uint64_t address) {
  Object object;
  const iovec target{&object, sizeof object};
  const iovec source{reinterpret_cast<void*>(address), sizeof object};  // NOLINT(performance-no-int-to-ptr)
  if (::process_vm_readv(process, &target, 1, &source, 1, 0) != sizeof object) return std::nullopt;
  return object;
}

// Returns the thread that has the mutex of the C library at the word that a thread waits for, by the process's own
// numbers. Returns nothing where the word is none of a mutex.
std::optional<std::uint32_t> owner_of_mutex(pid_t process, const futex_call& call) {
  const auto mutex = read_object<pthread_mutex_t>(process, call.address);
  if (!mutex || call.limit != 0) return std::nullopt;  // a wait with a limit ends by itself
  const auto word = static_cast<std::uint32_t>(mutex->__data.__lock);
  const auto kind = static_cast<std::uint32_t>(mutex->__data.__kind);
  constexpr std::uint32_t type_bits = 3, robust_bit = 16, priority_bit = 32, ceiling_bit = 64;
  constexpr std::uint32_t shared_bit = 128, elision_bits = 256 | 512;
  constexpr std::uint32_t known_bits = type_bits | robust_bit | priority_bit | ceiling_bit | shared_bit | elision_bits;
  if ((kind & ~known_bits) != 0 || (kind & ceiling_bit) != 0) return std::nullopt;
  if (call.is_for_priority_mutex())
    return (kind & priority_bit) != 0 ? std::optional(word & FUTEX_TID_MASK) : std::nullopt;
  if (call.command() != FUTEX_WAIT || call.value != word) return std::nullopt;
  if ((kind & robust_bit) != 0)
    return (word & FUTEX_WAITERS) != 0 ? std::optional(word & FUTEX_TID_MASK) : std::nullopt;
  constexpr std::uint32_t locked_with_waiters = 2;
  if (word != locked_with_waiters || (kind & priority_bit) != 0 || mutex->__data.__nusers == 0) return std::nullopt;
  return static_cast<std::uint32_t>(mutex->__data.__owner);
}

// Returns the number of the thread whose end pthread_join() waits for. The word is in that thread's descriptor, which
// begins with two pointers to itself.
std::optional<std::uint32_t> thread_to_join(pid_t process, const futex_call& call) {
  constexpr std::uint64_t word_offset = 0x2d0, self_offset = 0x10;  // of glibc for x86-64
  if (call.command() != FUTEX_WAIT_BITSET || call.limit != 0 || call.value == 0) return std::nullopt;
  const std::uint64_t descriptor = call.address - word_offset;
  const auto word = read_object<std::uint32_t>(process, call.address);
  if (word != call.value || read_object<std::uint64_t>(process, descriptor) != descriptor ||
      read_object<std::uint64_t>(process, descriptor + self_offset) != descriptor)
    return std::nullopt;
  return *word;
}

}  // namespace

lasting_wait_watch::lasting_wait_watch(pid_t process, std::uint32_t image) : process_(process), image_(image) {
  constexpr int max_looks = 50;
  std::vector<std::uint32_t> running = running_threads(static_cast<std::uint64_t>(process));
  for (int looks = 0; !running.empty() && looks < max_looks; ++looks) {
    if (looks != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::erase_if(running, [&](std::uint32_t thread) { return add_if_waiting(thread); });
  }
}

// Returns false for a thread that runs.
bool lasting_wait_watch::add_if_waiting(std::uint32_t thread) {
  const auto id = static_cast<pid_t>(thread);
  std::string schedules = cpu::schedules_of(process_, id);
  std::string call = cpu::call_line_of(process_, id);
  if (call == "running") return false;
  if (!schedules.empty() && futex_call_of(call))
    threads_.push_back({thread, own_number_of(process_, thread), std::move(call), std::move(schedules)});
  return true;
}

bool lasting_wait_watch::is_waiting_still(const waiting_thread& thread) const {
  const auto id = static_cast<pid_t>(thread.id);
  return cpu::call_line_of(process_, id) == thread.call && cpu::schedules_of(process_, id) == thread.schedules;
}

std::uint32_t lasting_wait_watch::stack_of(std::uint32_t thread) {
  if (!std::exchange(has_mappings_, true)) stacks_.add_mappings(process_);
  return stacks_.stack_of_waiting(process_, static_cast<pid_t>(thread));
}

format::lasting_wait lasting_wait_watch::wait_of(waiting_thread& thread) {
  const futex_call call = *futex_call_of(thread.call);
  format::lasting_wait wait{thread.own_number, 0, awaited::word, call.address, 0};
  if (const auto owner = owner_of_mutex(process_, call)) {
    wait.kind = awaited::mutex;
    wait.holder = *owner;
  } else if (const auto joined = thread_to_join(process_, call)) {
    wait.kind = awaited::thread_end;
    wait.holder = *joined;
  } else {
    return wait;
  }
  if (!std::exchange(thread.has_stack, true)) thread.stack = stack_of(thread.id);
  wait.stack = thread.stack;
  return wait;
}

// Adds the threads that have what others wait for, and forgets the numbers that are none of a thread.
void lasting_wait_watch::add_holders(std::vector<format::lasting_wait>& waits) {
  if (std::none_of(waits.begin(), waits.end(), [](const auto& wait) { return wait.kind != awaited::word; })) return;
  std::map<std::uint32_t, std::uint32_t> threads;  // those that live, by their own number
  for (const std::uint32_t thread : running_threads(static_cast<std::uint64_t>(process_)))
    threads[own_number_of(process_, thread)] = thread;
  threads.erase(0);
  std::map<std::uint32_t, bool> is_told;
  for (const format::lasting_wait& wait : waits) is_told[wait.thread] = true;
  std::vector<format::lasting_wait> holders;
  for (format::lasting_wait& wait : waits) {
    const auto holder = threads.find(wait.holder);
    if (holder == threads.end()) {
      wait.holder = 0;
    } else if (!std::exchange(is_told[wait.holder], true)) {
      holders.push_back({wait.holder, stack_of(holder->second), awaited::nothing, 0, 0});
    }
  }
  waits.insert(waits.end(), holders.begin(), holders.end());
}

void lasting_wait_watch::look(format::recording& recording, bool is_last) {
  std::vector<waiting_thread> threads = threads_;
  for (const auto& [key, since] : recording.open_uses) {
    if (!key.is_wait) continue;
    std::erase_if(threads, [&, &key = key](const waiting_thread& thread) {
      return thread.own_number == recording.threads[key.thread].id;
    });
  }
  std::vector<format::lasting_wait> waits;
  waits.reserve(threads.size());
  for (waiting_thread& thread : threads) waits.push_back(wait_of(thread));
  // What was read of a thread that has not run since, and of the mutex that it has, did not change meanwhile.
  std::vector<std::uint32_t> runners;
  std::erase_if(threads, [&](const waiting_thread& thread) {
    if (is_waiting_still(thread)) return false;
    runners.push_back(thread.own_number);
    return true;
  });
  is_in_doubt_ = !is_in_doubt_ && !is_last && !runners.empty();
  if (is_in_doubt_) return;
  std::erase_if(waits, [&](const format::lasting_wait& wait) {
    return std::find(runners.begin(), runners.end(), wait.thread) != runners.end();
  });
  add_holders(waits);
  threads_ = std::move(threads);
  format::cpu_recording read_stacks;
  stacks_.read(process_, 0, image_, read_stacks);
  read_stacks.stacks.resize(std::max<std::size_t>(read_stacks.stacks.size(), 1));
  recording.lasting = {std::move(read_stacks.modules), std::move(read_stacks.python_codes),
                       std::move(read_stacks.stacks), std::move(waits)};
}

}  // namespace tarn::command
