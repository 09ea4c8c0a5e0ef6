// Looks from outside whether a thread of a process is in the loader.
#pragma once

#include <sys/types.h>

#include <optional>

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// The locks of the loader, which dlopen() and dl_iterate_phdr() hold while they call functions of the program.
class loader_locks {
 public:
  explicit loader_locks(const remote_process& process);

  // Returns a thread that has one; 0 if none has. Throws a failure for one that a thread of the parent had.
  pid_t holder() const;

 private:
  // Returns nothing where the holder is no thread of the process.
  std::optional<pid_t> present_holder() const;

  const remote_process& process_;
  remote_address data_;
};

// Throws the failure that a thread of the parent was in the loader when this process was forked.
[[noreturn]] void fail_as_forked_under_loader(pid_t process);

}  // namespace tarn::command
