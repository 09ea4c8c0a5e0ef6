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
#include <tuple>
#include <utility>
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

  // The places of activations below the ends of their C frames, with how many agree. One is right, once enough agree.
  using depth_votes = std::map<std::uint64_t, std::uint64_t>;
  bool knows_depth() const { return depth_ != 0; }
  const depth_votes& votes() const { return depths_; }
  void set_votes(depth_votes votes) { depths_ = std::move(votes); }

  // Returns the frames with Python's in place of those of the interpreter's loop, from the interpreter's own only those
  // inside the innermost Python function. `stacks` are the stack pointers of the frames, and `is_own` tells whether an
  // address is in the interpreter. New code objects are added to `codes`. The thread must stand still since the copy;
  // `goes_on` tells when all is read whether it no longer does. Returns nothing then, nor if an activation was not
  // begun by the next one.
  template <class IsOwn, class GoesOn>
  std::vector<std::uint64_t> with_python(const std::vector<std::uint64_t>& frames, const std::uintptr_t* stacks,
                                         const unwind::copied_stack& copy, std::uint32_t image, IsOwn is_own,
                                         GoesOn goes_on, std::vector<format::python_code_facts>& codes) {
    std::vector<activation> activations;
    const auto earlier_votes = depths_;
    const std::uint64_t earlier_depth = depth_;
    bool is_read = true;
    for (std::size_t index = 0; (is_read || depth_ == 0) && index + 1 < frames.size(); ++index) {
      if (frames[index] - loop_ >= loop_bytes_) continue;
      activations.push_back({index, {}, 0, 0, true});
      is_read = read_activation(copy, stacks[index], stacks[index + 1], image, codes, activations.back()) && is_read;
    }
    if (activations.empty()) return {};
    if (goes_on()) {
      depths_ = earlier_votes;
      depth_ = earlier_depth;
      return {};
    }
    if (!is_read || !are_linked(activations)) return {};
    std::vector<std::uint64_t> result;
    auto next = activations.begin();
    bool is_outside = false;  // the innermost Python function has been added
    for (std::size_t index = 0; index < frames.size(); ++index) {
      if (next != activations.end() && next->index == index) {
        const std::vector<std::uint64_t>& added = (next++)->frames;
        result.insert(result.end(), added.begin(), added.end());
        is_outside = is_outside || !added.empty();
        if (!added.empty()) continue;
      }
      if (!is_outside || !is_own(frames[index])) result.push_back(frames[index]);
    }
    result.resize(std::min<std::size_t>(result.size(), format::max_cpu_frames));
    return result;
  }

 private:
  struct activation {
    std::size_t index;  // of its C frame
    std::vector<std::uint64_t> frames;
    std::uint64_t first, next;  // addresses of its innermost frame and of the frame outside of its outermost one
    bool is_whole;              // not cut at the largest number of frames
  };
  // An object of Python with its text, or with bytes.
  struct object_text {
    std::uint64_t address = 0, bytes = 0;
    std::string text;
    bool operator==(const object_text&) const = default;
  };
  struct known_code {
    object_text file, function, lines;
    std::uint64_t units = 0, start = 0;
    std::uint32_t line = 0;
  };

  python_process() = default;
  bool read(std::uint64_t address, void* target, std::size_t bytes) const;
  std::optional<std::uint64_t> word_at(std::uint64_t address) const;
  bool is_frame(std::uint64_t address) const;
  // Return the text of an object of which all bytes were read.
  std::optional<std::string> string_in(const std::vector<std::byte>& object) const;
  std::optional<std::string> bytes_in(const std::vector<std::byte>& object) const;
  // Return how many bytes an object has with its text; nothing if it has another type.
  std::optional<std::uint64_t> string_size(std::uint64_t address) const;
  std::optional<std::uint64_t> bytes_size(std::uint64_t address) const;
  // Reads the texts at the addresses, with the sizes. Returns whether they are what the code object has now.
  bool read_texts(known_code& code) const;
  // Counts how far below the end of the loop's C frame its activation lies, which the compiler decided.
  void find_depth(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end);
  // Returns whether the activation is as the compiler of this interpreter places it.
  bool read_activation(const unwind::copied_stack& copy, std::uint64_t stack, std::uint64_t end, std::uint32_t image,
                       std::vector<format::python_code_facts>& codes, activation& result);
  // Returns whether each activation was begun by the next one, and takes the frames from an innermost one that has none
  // of its own yet.
  static bool are_linked(std::vector<activation>& activations);
  // Returns the begin and the size of the instructions of the code at the address; two 0 if there is none.
  std::pair<std::uint64_t, std::uint64_t> code_at(std::uint64_t address, std::uint32_t image,
                                                  std::vector<format::python_code_facts>& codes);

  pid_t process_ = 0;
  const format::python_layout* layout_ = nullptr;
  std::uint64_t code_type_ = 0, string_type_ = 0, bytes_type_ = 0, loop_ = 0, loop_bytes_ = 0;
  depth_votes depths_;
  std::uint64_t depth_ = 0;                    // 0: not known
  std::map<std::uint64_t, known_code> codes_;  // by address, where another one may be by now
  using content = std::tuple<std::uint64_t, std::uint32_t, std::string, std::string, std::string>;
  std::map<content, std::uint64_t> starts_;
};

}  // namespace tarn::cpu
