// Reads and writes the memory of another process, and finds functions in it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::command {

using remote_address = std::uint64_t;

struct remote_mapping {
  remote_address start, end;
  std::uint64_t offset;
  bool is_code, is_writable;
  std::string path;  // empty, or as in /proc/PID/maps
  bool has(remote_address address) const { return address >= start && address < end; }
};

// The beginning of a thread's descriptor, to which its thread pointer leads (glibc for x86-64).
struct thread_descriptor {
  bool is_at(remote_address address) const { return thread_pointer == address && self == address; }

  remote_address thread_pointer, table, self;
  std::array<std::byte, 0x2b8> others;
  std::uint32_t number;
};

class remote_process {
 public:
  // Throws a failure where the process may not be traced. Root without CAP_DAC_OVERRIDE may trace a process of another
  // user, but open none of the files in /proc that belong to that user; system calls then take their place.
  explicit remote_process(pid_t process);
  remote_process(const remote_process&) = delete;
  remote_process& operator=(const remote_process&) = delete;
  ~remote_process();

  pid_t number() const { return process_; }
  // Returns the number that a thread of the process has in its own namespace of processes.
  pid_t own_number_of(pid_t thread) const;
  // Both return false where not all of it is mapped. The process itself may be unable to write there: writing may fail
  // then, but does not have to.
  bool read(remote_address address, void* target, std::size_t bytes) const;
  bool write(remote_address address, const void* source, std::size_t bytes) const;
  template <class Value>
  std::optional<Value> value_at(remote_address address) const {
    Value value;
    return read(address, &value, sizeof value) ? std::optional<Value>(value) : std::nullopt;
  }
  // Returns the text that begins at the address, up to its null, and at most 1,000 bytes of it.
  std::string text_at(remote_address address) const;

  // Returns the path of a file that the process has open. It is valid as long as this object.
  std::string path_of(int descriptor) const;
  std::vector<int> descriptors() const;

  std::vector<remote_mapping> mappings() const;
  // Returns the start of the first mapping of a file whose path contains `name`; 0 if there is none.
  remote_address module_start(std::string_view name) const;
  // Returns the address of what the module at `start` exports by the name; 0 if it does not.
  remote_address function_of(remote_address start, std::string_view name) const;

 private:
  pid_t process_;
  int memory_;  // negative where the kernel copies by process_vm_readv and process_vm_writev
  mutable std::vector<int> copied_descriptors_;
};

}  // namespace tarn::command
