// Walks the stacks of a process's stopped threads.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profiler/launch/remote_process.hpp"
#include "profiler/unwind/elf_file.hpp"

namespace tarn::command {

class remote_stacks {
 public:
  // Reads the call frame information of all code that the process has mapped by now. That may take some 10 ms, so no
  // thread should be stopped meanwhile.
  explicit remote_stacks(const remote_process& process);

  // Returns the addresses of the thread's functions, from the one that it stands in up to the first one of the thread.
  // Returns none where a part of the stack is not known for sure, or a signal has interrupted one of them.
  std::vector<remote_address> frames_of(const user_regs_struct& registers);

 private:
  struct code {
    remote_address end = 0, bias = 0;
    unwind::elf_file* file = nullptr;
  };
  unwind::row row_at(remote_address address);

  const remote_process& process_;
  std::map<remote_address, code> code_;  // by its start
  std::map<std::string, std::unique_ptr<unwind::elf_file>> files_;
};

}  // namespace tarn::command
