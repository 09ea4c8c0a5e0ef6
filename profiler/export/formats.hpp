// The formats; docs/guide/export.md describes their content. Each function returns the whole file, or writes a large
// text one part at a time. Names in a recording may have any bytes: JSON replaces bytes that are not UTF-8, and lines
// of text replace those that would end a frame or a line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/export/profile.hpp"

namespace tarn::exports {

// Receives the next part of a file. An exception ends the writing.
using sink = std::function<void(std::string_view)>;

// One measure, with a line for each stack: "thread;main;…;function;[category] 123".
void write_collapsed(const profile& profile, measure weight, const sink& output);

// A profile for each measure: https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources.
void write_speedscope(const profile& profile, const sink& output);

// Firefox's processed profile, version 60: a process for each measure, with a track for each thread.
std::string as_firefox(const profile& profile);

// When a profile was taken, in nanoseconds since 1970.
struct time_range {
  std::uint64_t from_ns = 0, until_ns = 0;
};
// Returns the time in the recording, which is known to the second.
time_range time_of(const profile& profile);

// https://github.com/google/pprof/blob/main/proto/profile.proto, not compressed.
std::string as_pprof(const profile& profile, const time_range& time);

// A Perfetto trace: a heap dump for the heap; slices for locks and system calls, each as long as the time it stands
// for.
std::string as_perfetto(const profile& profile);

// A line of JSON for each sample, for databases. Each line has all the columns in row_columns(), which
// docs/guide/fleet.md describes. The version changes with the meaning of a column.
constexpr int row_schema = 1;
// What the user says of the recorded program, and what a recording does not contain. An empty service or host is
// that of the recording, an empty version is the build.
struct row_labels {
  std::string service, version, host, container;
  std::string others;  // "region=eu;zone=a"
};
// Returns the labels with these defaults.
row_labels complete_labels(const row_labels& labels, const profile& profile);
void write_rows(const profile& profile, const row_labels& labels, const sink& output);
enum class column_type { text, number };
struct column {
  std::string_view name;
  column_type type;
};
std::vector<column> row_columns();

}  // namespace tarn::exports
