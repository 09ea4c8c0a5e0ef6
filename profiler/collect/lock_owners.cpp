#include "profiler/collect/lock_owners.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {
namespace {

using format::awaited;

template <class Object>
std::optional<Object> read_object(pid_t process, std::uint64_t address) {
  Object object;
  const iovec target{&object, sizeof object};
  const iovec source{reinterpret_cast<void*>(address), sizeof object};  // NOLINT(performance-no-int-to-ptr)
  if (::process_vm_readv(process, &target, 1, &source, 1, 0) != sizeof object) return std::nullopt;
  return object;
}

// Returns the number of the thread that has this descriptor; 0 if it is none, or the thread has ended.
std::uint32_t thread_of_descriptor(pid_t process, std::uint64_t descriptor) {
  const auto content = read_object<thread_descriptor>(process, descriptor);
  return content && content->is_at(descriptor) ? content->number : 0;
}

// Returns whether no other process writes to this address. A page that a process has written to is a copy of its own
// in a private mapping of a file, too, and a thread that waits for a lock has written to it.
bool is_private(pid_t process, std::uint64_t address) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    char* end = nullptr;
    const std::uint64_t start = std::strtoull(line.c_str(), &end, 16);
    if (*end != '-' || address < start || address >= std::strtoull(end + 1, &end, 16)) continue;
    const std::string rights(end, 5);  // " rw-p"
    return rights.ends_with('p');
  }
  return false;
}

awaited_object mutex_of(pid_t process, const futex_call& call) {
  const auto mutex = read_object<pthread_mutex_t>(process, call.address);
  if (!mutex || call.limit != 0) return {};  // a wait with a limit ends by itself
  const auto word = static_cast<std::uint32_t>(mutex->__data.__lock);
  const auto kind = static_cast<std::uint32_t>(mutex->__data.__kind);
  constexpr std::uint32_t type_bits = 3, robust_bit = 16, priority_bit = 32, ceiling_bit = 64;
  constexpr std::uint32_t shared_bit = 128, elision_bits = 256 | 512;
  constexpr std::uint32_t known_bits = type_bits | robust_bit | priority_bit | ceiling_bit | shared_bit | elision_bits;
  if ((kind & ~known_bits) != 0 || (kind & ceiling_bit) != 0) return {};
  const auto held_by = [&](std::uint32_t holder, bool is_held_by_kernel) {
    const bool is_shared = (kind & (shared_bit | robust_bit)) != 0 && !is_private(process, call.address);
    return awaited_object{awaited::mutex, holder, is_shared, is_held_by_kernel};
  };
  const bool is_for_priority = (kind & priority_bit) != 0;
  if (call.is_for_priority_mutex()) return is_for_priority ? held_by(word & FUTEX_TID_MASK, true) : awaited_object();
  if (call.command() != FUTEX_WAIT || call.value != word || is_for_priority) return {};
  if ((kind & robust_bit) != 0)
    return (word & FUTEX_WAITERS) != 0 ? held_by(word & FUTEX_TID_MASK, true) : awaited_object();
  constexpr std::uint32_t locked_with_waiters = 2;
  if (word != locked_with_waiters || mutex->__data.__nusers == 0) return {};
  return held_by(static_cast<std::uint32_t>(mutex->__data.__owner), false);
}

// The lock of a FILE has the descriptor of its owner.
awaited_object stream_of(pid_t process, const futex_call& call) {
  struct stream_lock {
    std::uint32_t word, depth;
    std::uint64_t owner;
  };
  const auto lock = read_object<stream_lock>(process, call.address);
  constexpr std::uint32_t locked_with_waiters = 2;
  if (!lock || call.command() != FUTEX_WAIT || call.limit != 0 || call.value != locked_with_waiters ||
      lock->word != locked_with_waiters || lock->depth == 0)
    return {};
  const std::uint32_t holder = thread_of_descriptor(process, lock->owner);
  return holder == 0 ? awaited_object() : awaited_object{awaited::stream, holder, false, true};
}

// pthread_join() waits for the number in a thread's descriptor, which the kernel clears at the end of that thread.
awaited_object joined_thread_of(pid_t process, const futex_call& call) {
  if (call.command() != FUTEX_WAIT_BITSET || call.limit != 0 || call.value == 0 ||
      thread_of_descriptor(process, call.address - offsetof(thread_descriptor, number)) != call.value)
    return {};
  return {awaited::thread_end, static_cast<std::uint32_t>(call.value), false, true};
}

// A thread waits for one of two words in the lock, which has the number of the thread that writes. Of threads that read
// it has only the count.
awaited_object reader_writer_of(pid_t process, const futex_call& call) {
  if (call.command() != FUTEX_WAIT_BITSET || call.limit != 0) return {};
  using lock_data = decltype(pthread_rwlock_t::__data);
  for (const std::size_t offset : {offsetof(lock_data, __wrphase_futex), offsetof(lock_data, __writers_futex)}) {
    const auto lock = read_object<pthread_rwlock_t>(process, call.address - offset);
    if (!lock) continue;
    const lock_data& data = lock->__data;
    constexpr unsigned write_phase = 1, write_locked = 2, reader = 8, awaited_bit = 2;
    const unsigned word = offset == offsetof(lock_data, __wrphase_futex) ? data.__wrphase_futex : data.__writers_futex;
    if (word != call.value || (word & awaited_bit) == 0 || word > 3) continue;
    if (data.__shared < 0 || data.__shared > 1 || data.__flags > PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) continue;
    const bool is_written = (data.__readers & write_locked) != 0 && (data.__readers & write_phase) != 0;
    if (data.__cur_writer < 0 || is_written != (data.__cur_writer != 0)) continue;
    if (!is_written && data.__readers < reader) continue;  // nobody has it: the thread is about to go on
    const bool is_shared = data.__shared != 0 && !is_private(process, call.address);
    return {awaited::reader_writer, static_cast<std::uint32_t>(data.__cur_writer), is_shared, false, offset};
  }
  return {};
}

std::vector<std::string> fields_of_stat(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(fields), {}};
}

// Returns the time of the scheduler's clock when a thread last ran.
std::optional<double> last_run_ns(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/sched", process, thread));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("se.exec_start")) continue;
    const double milliseconds = std::strtod(line.c_str() + line.find(':') + 1, nullptr);
    return milliseconds <= 0 ? std::nullopt : std::optional(milliseconds * 1e6);
  }
  return std::nullopt;
}

// Returns about how long a thread has not run, and no longer. Each processor has a clock of its own, which may stand
// still while the machine does other work.
std::optional<double> min_idle_ns(pid_t process, pid_t thread, const std::string& processor) {
  const auto last = last_run_ns(process, thread);
  if (!last) return std::nullopt;
  cpu_set_t usual, processor_of_thread;
  CPU_ZERO(&processor_of_thread);
  const int number = std::atoi(processor.c_str());
  if (number < 0 || number >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof usual, &usual) != 0) return std::nullopt;
  CPU_SET(static_cast<std::size_t>(number), &processor_of_thread);
  if (::sched_setaffinity(0, sizeof processor_of_thread, &processor_of_thread) != 0) return std::nullopt;
  const auto now = last_run_ns(::getpid(), ::gettid());
  ::sched_setaffinity(0, sizeof usual, &usual);
  if (!now) return std::nullopt;
  return *now - *last;
}

}  // namespace

std::uint64_t futex_call::command() const { return operation & FUTEX_CMD_MASK; }

bool futex_call::is_for_priority_mutex() const { return command() == FUTEX_LOCK_PI || command() == FUTEX_LOCK_PI2; }

std::optional<futex_call> futex_call_of(const std::string& line) {
  std::istringstream fields(line);
  long number = -1;
  futex_call call;
  fields >> number >> std::hex >> call.address >> call.operation >> call.value >> call.limit;
  if (!fields || number != SYS_futex) return std::nullopt;
  if (call.command() != FUTEX_WAIT && call.command() != FUTEX_WAIT_BITSET && !call.is_for_priority_mutex())
    return std::nullopt;
  call.value &= 0xffffffff;
  return call;
}

awaited_object awaited_object_of(pid_t process, const futex_call& call) {
  for (const auto& read : {stream_of, mutex_of, joined_thread_of, reader_writer_of}) {
    if (const awaited_object object = read(process, call); object.kind != awaited::word) return object;
  }
  return {};
}

std::optional<bool> is_newer_than_wait(pid_t process, pid_t holder, pid_t waiter) {
  constexpr std::size_t start_field = 19, processor_field = 36;  // counted from the one behind the name
  const std::vector<std::string> of_holder = fields_of_stat(process, holder),
                                 of_waiter = fields_of_stat(process, waiter);
  if (of_holder.size() <= start_field || of_waiter.size() <= processor_field) return std::nullopt;
  const auto idle_ns = min_idle_ns(process, waiter, of_waiter[processor_field]);
  timespec now{};
  if (!idle_ns || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return std::nullopt;
  const double now_ns = static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  const double started_ns =
      std::strtod(of_holder[start_field].c_str(), nullptr) * 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return started_ns > now_ns - *idle_ns;
}

pid_t parent_of(pid_t process) {
  const std::vector<std::string> fields = fields_of_stat(process, process);
  return fields.size() < 2 ? 0 : static_cast<pid_t>(std::atoi(fields[1].c_str()));
}

}  // namespace tarn::command
