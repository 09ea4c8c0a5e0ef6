// Reads in the memory of a running process for which lock a thread waits, and which thread has that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// The arguments of a wait for a word of memory to change.
struct futex_call {
  std::uint64_t address = 0, operation = 0, value = 0, limit = 0;
  std::uint64_t command() const;
  bool is_for_priority_mutex() const;
};

// Returns them by a line of /proc/PID/task/TID/syscall; nothing where the thread does not wait for a word.
std::optional<futex_call> futex_call_of(const std::string& line);

// Says what the memory at the word looks like. It is a lock only if code for such locks waits for it.
struct awaited_object {
  format::awaited kind = format::awaited::word;
  std::uint32_t holder = 0;        // by the process's own numbers; 0: unknown
  bool is_shared = false;          // other processes may have it mapped, and the holder's number may be one of theirs
  bool is_held_by_kernel = false;  // the kernel marks it where its holder ends, so the number is no ended thread's
  std::uint64_t offset = 0;        // of the word in the lock
};
awaited_object awaited_object_of(pid_t process, const futex_call& call);

// Returns whether the thread `holder` was certainly started after the thread `waiter` had last run: then it has nothing
// for which that one waits since. Returns nothing where the kernel does not show it.
std::optional<bool> is_newer_than_wait(pid_t process, pid_t holder, pid_t waiter);

// Returns the number of the process's parent, of which it may be a copy.
pid_t parent_of(pid_t process);

}  // namespace tarn::command
