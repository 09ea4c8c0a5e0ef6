// The heaps of a process that runs on Tarn's, read from outside: it takes no part, and is not stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tarn/statistics.hpp>

namespace tarn::command {

struct heap_facts {
  std::uint64_t address = 0;  // in the process: the same heap, the same address
  std::uint32_t thread = 0;   // its owner's, the kernel's number; 0 without one
  std::string name;           // of a heap object; else empty
  bool counts_calls = false;  // blocks and bytes allocated and freed are known
  bool was_used = false;
  heap_statistics statistics;
};

class process_heaps {
 public:
  // Null where the process has no heaps of Tarn. Throws a usage failure where it may not be read, or has those of
  // another Tarn.
  static std::optional<process_heaps> find(pid_t process);

  // All heaps that there ever were, the oldest first; none once the process has ended.
  std::vector<heap_facts> look() const;

 private:
  process_heaps(pid_t process, std::uint64_t newest) : process_(process), newest_(newest) {}

  pid_t process_;
  std::uint64_t newest_;  // where the pointer to the newest heap lies
};

}  // namespace tarn::command
