// Infers the type that a site allocates from the names on its stack, and writes the line of code.
#pragma once

#include <string>
#include <vector>

#include "profiler/findings/heap/escapes.hpp"
#include "profiler/predict/predict.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

enum class allocated_kind {
  unknown,
  text,
  vector,
  deque,
  list,
  tree,
  table,
  shared_object,
  unique_object,
  object,
  c_block,
  exception_object,  // of a throw, or its message
  coroutine_frame
};

struct allocation_info {
  allocated_kind kind = allocated_kind::unknown;
  std::string type;               // as to be written: std::vector<int>; empty if it is not known
  std::string element;            // the element of a container, or the pointed-to type
  std::size_t element_bytes = 0;  // its size; 0 if it is not known
  bool has_grown = false;         // a container outgrew its buffer
  bool is_own_push_back = false;  // a character was added to a text
  bool is_concatenated = false;   // a text is the result of operator+, which no loop has to surround
  bool was_copied = false;        // a container was copied, as far as is known to be used unchanged
  std::size_t frame = 0;          // index in the stack of the first function outside the library
  bool is_foreign = false;        // that function cannot be changed: it is in an installed library, or not in C or C++
  bool is_of_another_language = false;
  bool is_source_newer = false;  // the file has changed since the program was built, so that `source` is empty
  escape_verdict escape = escape_verdict::unknown;  // of the blocks, from that function
  std::string source;  // the source line there, if the file can be read and is older than the recording
};

// `frames` is the whole stack, innermost first, including the allocator's frames. The first `skipped` of them do not
// decide, whatever their names.
allocation_info allocation_at(const std::vector<code_location>& frames, std::size_t skipped = 0);

// Sets `made.source` from the file system. If the names did not tell the type, it is read from the `new` or
// `make_unique` in that line, or from the body of a coroutine around it.
void read_source(allocation_info& allocation, const std::vector<code_location>& frames, std::uint64_t recorded);

// Returns a text that is equal for the buffers of one container: those of one type in one function, at any of its
// lines. Empty if the site allocates for no container, or its type or function is not known.
std::string container_key(const allocation_info& allocation, const std::vector<code_location>& frames);

// Returns whether another container takes the text of the allocation's line, such as `names.push_back("x" + name)`.
bool is_taken_over(const allocation_info& allocation);

struct advice {
  std::string text;  // the change to make
  std::string code;  // the line to write, or the command to run; may be empty
  std::string note;  // a condition on the code, or a cost elsewhere; may be empty
};
// Returns false if the remedy keeps a block in a function that the block outlives, or a text that another container
// takes, or if it is a pool of objects for the buffers of a container. An exception can only be avoided, and a frame of
// a coroutine be allocated by its promise.
bool is_applicable(remedy_kind remedy, const allocation_info& allocation);

// Returns whether the remedy also saves work on the blocks that no recording shows, such as filling or copying a
// container, constructors, or moved elements. Then the predicted saving is only a lower bound.
bool saves_unmodelled_work(remedy_kind remedy, const allocation_info& allocation);

// Returns what the bytes of a reserve are enough for, and what they cost in memory at the peak.
std::string reserved_size_text(const growth& grown, const site& site);

advice advise(remedy_kind remedy, const allocation_info& allocation, const site& site, const growth& grown);

}  // namespace tarn::analyse
