// Declares the forms of a report: text, JSON and HTML.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "profiler/advise/analysis.hpp"
#include "profiler/advise/verdict.hpp"
#include "profiler/format/part.hpp"

namespace tarn::command {

struct report_request {
  std::string path = "tarn.rec";
  bool as_json = false;
  std::string page;  // file to write the HTML report to; empty: none
  bool hides_names = false;
  bool must_calibrate = false;
  bool is_quick = false;          // predicts with the cost model alone
  bool has_alternatives = false;  // the text shows more than the first remedy of a site
  std::size_t top = 10;
  std::optional<analyse::heap_category> only;
  part_request part;
  std::vector<std::string> sources;   // "heap", "locks", "syscalls", "cpu"; empty: all that were recorded
  bool separates_stacks = false;      // each call stack is a site of its own
  std::vector<std::string> wrappers;  // functions that only allocate on behalf of their callers
  double cpu_seconds = 0;             // CPU time of the program without a recorder; 0: not known

  bool wants(const analyse::site& site) const { return !only || site.category == *only; }
};

// Returns the sentences of a verdict. `names_site` adds where threads wait longest for a lock.
std::string verdict_text(analyse::analysis& analysis, const analyse::verdict& verdict, bool names_site);

// Replays the excerpts of the most expensive of `sites` (half a second), and says so if that is impossible.
void replay_dearest(analyse::analysis& analysis, const std::vector<analyse::site>& sites);

void print_text(analyse::analysis& analysis, const report_request& request);
void print_json(analyse::analysis& analysis, const report_request& request);
// Writes the HTML report to the file `request.page`. Throws a failure where the file cannot be written, or this build
// has no HTML report.
void write_html(analyse::analysis& analysis, const report_request& request);

// Follows the schema of docs/reference/report-json.md. json_of_site() returns an element of `sites`, and
// json_without_sites() returns everything else, with at most `top` locks and system calls.
nlohmann::json json_of_site(const analyse::analysis& analysis, const analyse::site_view& view);
nlohmann::json json_without_sites(analyse::analysis& analysis, std::size_t top);

// Reads the recording in `path`, with a line on standard error where it is damaged. Throws a failure.
format::recording read_recording(const std::string& path);
// These two functions do the work of read_recording() in two steps.
std::string recording_content(const std::string& path);
format::recording parse_recording(const std::string& path, const std::string& bytes);

}  // namespace tarn::command
