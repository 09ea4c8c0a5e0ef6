// What a site makes, read from the names on its stack, and the line to write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/predict.hpp"
#include "analyse/symbols.hpp"

namespace tarn::analyse {

enum class thing { unknown, text, vector, deque, list, tree, table, shared_object, unique_object, object, c_block };

struct made_here {
  thing what = thing::unknown;
  std::string type;         // as to be written: std::vector<int>; empty where it is not known
  std::string element;      // of a container, or what is pointed to
  bool grows = false;       // a container outgrew its buffer
  bool copies = false;      // a container was copied
  std::size_t place = 0;    // in the stack: the first function that is not the library's
  bool is_foreign = false;  // that function is of an installed library, or not in C or C++: it cannot be changed
  bool is_of_another_language = false;
  std::string source;  // the line there, where the file can be read and is older than the recording
};

// `frames`: of the whole stack, the allocator's own with it, innermost first. The first `passed` of them do not decide,
// whatever their names.
made_here made_at(const std::vector<place>& frames, std::size_t passed = 0);

// `made.source`, from the file system; and from that what `new` or `make_unique` makes, if the names did not tell.
void read_source(made_here& made, const std::vector<place>& frames, std::uint64_t recorded);

struct advice {
  std::string words;  // what to do
  std::string code;   // the line to write, or the command to run; may be empty
  std::string risk;   // what could go wrong; may be empty
};
// Whether the remedy spares work on the blocks as well, of which no recording tells how much: what a container does to
// fill or to copy, constructors, elements that are moved. Then what it saves is known from below alone.
bool spares_more(remedy by, const made_here& made);

advice advise(remedy by, const made_here& made, const site& of, const growth& grown);

}  // namespace tarn::analyse
