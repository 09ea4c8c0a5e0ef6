// The forms of a report.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.hpp"
#include "tarn/part.hpp"

namespace tarn::command {

struct report_request {
  std::string path;
  bool as_json = false;
  std::string page;  // where to write it as a page; empty: not asked for
  bool redact = false;
  bool calibrate = false;
  bool quick = false;  // by prices alone
  std::size_t top = 10;
  std::optional<analyse::category> only;
  part_request part;
  std::vector<std::string> sources;  // "heap", "locks", "syscalls"; empty: all that were recorded
  bool by_stack = false;             // each call stack a site of its own
  double cpu_seconds = 0;            // of the program without a recorder; 0: not known

  bool wants(const analyse::site& of) const { return !only || of.is == *only; }
  const std::vector<analyse::site>& sites(const analyse::analysis& of) const {
    return by_stack ? of.heap().sites : of.places();
  }
};

void print_text(analyse::analysis& of, const report_request& request);
// `bytes`: of the recording, for its course in time; none of a part of one.
void print_json(analyse::analysis& of, std::string_view bytes, const analyse::costs& prices,
                const report_request& request);
// Into the file `request.page`. Throws a failure where it cannot be written, or this build has no page.
void write_page(analyse::analysis& of, std::string_view bytes, const analyse::costs& prices,
                const report_request& request);

// Of docs/report.md's schema: an element of `sites`; and all but `sites`, with at most `top` locks and system calls.
nlohmann::json json_of_site(const analyse::analysis& all, const analyse::site_view& view);
nlohmann::json json_without_sites(const analyse::analysis& of, const analyse::costs& prices, std::size_t top);

// The recording in `path`, with a line on standard error where it is damaged. Throws a usage failure.
format::recording read_recording(const std::string& path);
// The same in two steps.
std::string recording_content(const std::string& path);
format::recording parse_recording(const std::string& path, const std::string& bytes);

}  // namespace tarn::command
