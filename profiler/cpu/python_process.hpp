// Reads the call stacks of CPython's functions in another process, for samples in which the kernel copied its stack.
// profiler/preload/records/python_stack.hpp does so inside of the process; docs/design/python-frames.md explains both.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/format/python_layout.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/format/region.hpp"
#include "profiler/unwind/copied_stack.hpp"

namespace tarn::cpu {

class python_process {
 public:
  // Returns null if the mapped file is no CPython whose layout is known.
  static std::unique_ptr<python_process> make(pid_t process, const std::string& path, std::uint64_t bias);

  // Returns the frames with Python's in place of those of the interpreter's loop, from the interpreter's own only those
  // inside the innermost Python function. `stacks` are the stack pointers of the frames, and `is_own` tells whether an
  // address is in the interpreter. New code objects are added to `codes`.
  template <class IsOwn>
  std::vector<std::uint64_t> with_python(const std::vector<std::uint64_t>& frames, const std::uintptr_t* stacks,
                                         const unwind::copied_stack& copy, std::uint32_t image, IsOwn is_own,
                                         std::vector<format::python_code_facts>& codes) {
    std::vector<std::uint64_t> result;
    bool is_outside = false;  // the innermost Python function has been added
    for (std::size_t index = 0; index < frames.size(); ++index) {
      const bool is_loop = frames[index] - loop_ < loop_bytes_ && index + 1 < frames.size();
      const std::size_t before = result.size();
      if (is_loop) add_activation(copy, stacks[index], stacks[index + 1], image, codes, result);
      if (result.size() != before) {
        is_outside = true;
      } else if (!is_outside || !is_own(frames[index])) {
        result.push_back(frames[index]);
      }
    }
    result.resize(std::min<std::size_t>(result.size(), format::max_cpu_frames));
    return result;
  }

 private:
  struct known_code {
    std::size_t number = 0;  // among the recorded ones
    std::uint64_t start = 0, bytes = 0;
  };

  python_process() = default;
  bool read(std::uint64_t address, void* target, std::size_t bytes) const;
  std::optional<std::uint64_t> word_at(std::uint64_t address) const;
  bool is_frame(std::uint64_t address) const;
  std::optional<std::string> text_at(std::uint64_t address) const;
  // Narrows down how far below the end of the loop's C frame its activation lies, which the compiler decided.
  void find_depth(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end);
  void add_activation(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end, std::uint32_t image,
                      std::vector<format::python_code_facts>& codes, std::vector<std::uint64_t>& frames);
  const known_code* code_at(std::uint64_t address, std::uint32_t image, std::vector<format::python_code_facts>& codes);

  pid_t process_ = 0;
  const format::python_layout* layout_ = nullptr;
  std::uint64_t code_type_ = 0, string_type_ = 0, bytes_type_ = 0, loop_ = 0, loop_bytes_ = 0;
  std::vector<std::uint64_t> depths_;  // the possible ones; one: it is known
  std::map<std::uint64_t, known_code> codes_;
  const known_code unknown_ = {0, format::unknown_python_address, 0};  // stands for those without room
};

}  // namespace tarn::cpu
