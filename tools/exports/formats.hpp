// The formats (docs/export.md says what each carries). Each function gives the whole file, or where that is large text
// writes it a part at a time. Names of a recording may be any bytes: in JSON what is no UTF-8 is replaced, in lines of
// text what would end a frame or a line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exports/profile.hpp"

namespace tarn::exports {

// Takes the next part of a file. What it throws ends the writing.
using sink = std::function<void(std::string_view)>;

// One measure: a line for each stack, "thread;main;…;function;[category] 123".
void write_collapsed(const profile& of, measure which, const sink& to);

// https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources: a profile for each measure.
void write_speedscope(const profile& of, const sink& to);

// Firefox's processed profile, version 60: a process for each measure, with a track for each thread.
std::string as_firefox(const profile& of);

// https://github.com/google/pprof/blob/main/proto/profile.proto, not compressed.
std::string as_pprof(const profile& of);

// A trace of Perfetto: the heap as a dump of it; locks and system calls as slices, each as long as what it stands for.
std::string as_perfetto(const profile& of);

// A line of JSON for each sample, for data bases: the columns in row_columns(), all of them in each line.
void write_rows(const profile& of, const sink& to);
enum class column_type { text, number };
struct column {
  std::string_view name;
  column_type type;
};
std::vector<column> row_columns();

}  // namespace tarn::exports
