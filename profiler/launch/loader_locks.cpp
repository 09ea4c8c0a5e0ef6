#include "profiler/launch/loader_locks.hpp"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/base/failure.hpp"
#include "profiler/launch/traced_thread.hpp"

namespace tarn::command {

loader_locks::loader_locks(const remote_process& process)
    : process_(process), data_(process.function_of(process.module_start("/ld-"), "_rtld_global")) {}

pid_t loader_locks::holder() const {
  constexpr int looks = 3;  // the thread may have just ended
  for (int look = 0; look < looks; ++look) {
    if (const std::optional<pid_t> thread = present_holder()) return *thread;
  }
  fail_as_forked_under_loader(process_.number());
}

std::optional<pid_t> loader_locks::present_holder() const {
  struct mutex {  // the beginning of a pthread_mutex_t
    std::uint32_t lock, count, owner, users, kind;
  };
  std::array<std::byte, 4096> data;
  if (data_ == 0 || !process_.read(data_, data.data(), data.size())) return 0;
  for (std::size_t offset = 0; offset + sizeof(mutex) <= data.size(); offset += alignof(pthread_mutex_t)) {
    mutex part;
    std::memcpy(&part, data.data() + offset, sizeof part);
    if (part.lock == 0 || part.count == 0 || part.users != 1 || part.kind != PTHREAD_MUTEX_RECURSIVE) continue;
    for (const pid_t thread : threads_of(process_.number())) {
      if (static_cast<std::uint32_t>(process_.own_number_of(thread)) == part.owner) return thread;
    }
    return std::nullopt;
  }
  return 0;
}

void fail_as_forked_under_loader(pid_t process) {
  fail(exit_code::io_error,
       "process {} was forked while another thread of its parent was in the loader, whose work and lock stay as they "
       "were in it; record another process, or start the program with tarn record",
       process);
}

}  // namespace tarn::command
