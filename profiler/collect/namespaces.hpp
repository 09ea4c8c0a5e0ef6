// Finds processes of other PID namespaces, such as a container or a child of `unshare -p`.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tarn::command {

// Names a process by its number in a PID namespace. The namespace is the inode of /proc/PROCESS/ns/pid, or 0 where
// the process could not tell it.
struct namespace_process {
  std::uint32_t number = 0;
  std::uint32_t pid_namespace = 0;
};

std::uint32_t own_pid_namespace();

// Returns the number that a thread of a process has for that process itself; 0 if it has ended.
std::uint32_t own_number_of(pid_t process, std::uint32_t thread);

// Returns the process's number in our namespace; nothing where it has ended or its namespace is not below ours.
std::optional<pid_t> find_process(const namespace_process& process);

// Returns a name for a file: "123", or "1@4026532177.5" for a process that is not found here. The inode of an ended
// namespace may be used again, so `index` is added: the process's index among all of the recording.
std::string name_of(const namespace_process& process, const std::optional<pid_t>& number, std::size_t index);

}  // namespace tarn::command
