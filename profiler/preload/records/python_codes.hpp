// Records the code objects of CPython that are on recorded stacks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/format/python_layout.hpp"
#include "profiler/format/region.hpp"
#include "profiler/preload/base/checked_memory.hpp"
#include "profiler/preload/records/python_chains.hpp"

namespace tarn::preload {

// The types of a running CPython, by which its objects are told from other memory.
struct python_types {
  const format::python_layout* layout;
  std::uintptr_t code, string, bytes;
};

// Where a code object's instructions are, and the address by which recorded stacks name the first one.
struct python_code {
  std::uintptr_t instructions = 0;
  std::uint64_t bytes = 0, start = 0;
  bool is_watched = false;  // freed_python_codes changes before it is another one
  bool operator==(const python_code&) const = default;
};

// Returns false when there is no code object at the address. Code objects have the same start if their file, their
// function and their lines are the same. One without room for its record gets that of unknown ones, and no bytes. It
// locks only to record a new one.
bool find_python_code(const python_types& types, std::uintptr_t address, checked_memory& memory,
                      python_code& result) noexcept;

// A text of CPython, whose characters have `width` bytes.
struct python_text {
  std::uintptr_t characters = 0;
  std::size_t length = 0;
  unsigned width = 1;
  bool is_ascii = true;
  bool operator==(const python_text&) const = default;
};

// Says where in memory a code object has what becomes its record.
struct python_description {
  std::uintptr_t file_object = 0, function_object = 0, lines_object = 0;
  std::uint64_t units = 0;  // instructions
  std::uint32_t line = 0;
  python_text file, function;
  std::size_t line_bytes = 0;
  bool operator==(const python_description&) const = default;
};

// Counts the code objects that CPython has begun to free, from 1 on; 0 where that is not known. While it stays the
// same, a code object that was met is still at its address.
extern constinit std::atomic<std::uint64_t> freed_python_codes;  // NOLINT(bugprone-dynamic-static-initializers)
void count_freed_python_codes(const python_types& types) noexcept;
// Gives CPython its own function back when the recording ends, and takes its place again when it goes on. One thread at
// a time may call these.
void leave_python_codes() noexcept;
void resume_python_codes() noexcept;

// Remembers code objects that one thread has met; all zeroes is an empty memory. What it has met is read again without
// a question to the kernel, so it may be asked only for code objects that a frame of the thread refers to.
class met_python_codes {
 public:
  // Call this before the frames of another stack. Those of one stack hold their code objects, which stay the same.
  void begin_stack() noexcept {
    last_ = {};
    file_of_stack_ = {};
    freed_ = freed_python_codes.load(std::memory_order_relaxed);
  }
  bool find(const python_types& types, std::uintptr_t address, checked_memory& memory, python_code& result) noexcept;

  // Returns freed_python_codes at the begin of the stack.
  std::uint64_t freed_codes() const noexcept { return freed_; }
  met_python_frames frames;
  known_python_chains chains;

 private:
  // An object of CPython with the hash of its text.
  struct file {
    std::uintptr_t object;
    std::uint64_t hash;
    bool operator==(const file&) const = default;
  };
  struct entry {
    std::uintptr_t address;
    python_description description;
    std::uint64_t file_hash;
    const format::python_code_record* record;
    python_code code;
    std::uint64_t freed;  // freed_python_codes when its content was compared; 0: it is compared for each stack
  };
  bool is_same(const python_types& types, const entry& met) noexcept;

  static constexpr std::size_t count = 256;
  entry entries_[count];
  struct {
    std::uintptr_t address;
    python_code code;
  } last_;               // recursion has one code object in many frames
  file file_of_stack_;   // the last one whose text was compared
  std::uint64_t freed_;  // freed_python_codes at the begin of the stack
};

// Starts afresh in a child of fork.
void begin_python_codes_anew() noexcept;

}  // namespace tarn::preload
