// Reads the heaps of a process that runs on Tarn from outside. The process takes no part and is not stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tarn/statistics.hpp>

namespace tarn::command {

struct heap_facts {
  std::uint64_t address = 0;  // in the process: the same heap has the same address
  std::uint32_t thread = 0;   // the kernel's number of the owner; 0 without one
  std::string name;           // for a heap object; else empty
  bool counts_calls = false;  // blocks and bytes allocated and freed are known
  bool was_used = false;
  heap_statistics statistics;
};

class process_heaps {
 public:
  // Returns null if the process has no heaps of Tarn. Throws a failure if it may not be read, or has those of
  // another version of Tarn.
  static std::optional<process_heaps> find(pid_t process);

  // Returns all heaps that ever existed, the oldest first; none once the process has ended.
  std::vector<heap_facts> read();

  // Bytes of blocks that were freed and that their heaps had not taken in at the last read().
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }

 private:
  process_heaps(pid_t process, std::uint64_t newest_pointer_address)
      : process_(process), newest_pointer_address_(newest_pointer_address) {}

  pid_t process_;
  std::uint64_t newest_pointer_address_;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace tarn::command
