// Turns the trace excerpts of a recording into steps for one site. `tarn measure replay` repeats the steps with the
// program's own allocator, and as if a remedy served the site. The C library's cost of a block depends on the
// history: how many blocks of its size are free, which other sizes were requested, and in which order. The excerpts
// contain this history; a table of prices does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/predict/cost_model.hpp"

namespace tarn::analyse {

// Each block has a slot. Slots are numbered from 0 and used only once.
struct replay_step {
  enum step_kind : std::uint8_t {
    allocate,  // a block of `bytes` in `slot`
    release,   // the block in `slot`, of `bytes`
    resize,    // a realloc of the block in `source_slot`, chosen or not, to `bytes` in `slot`
    grow,      // a larger block in `slot`, and a copy from `source_slot`; a later step releases the old block
  };
  step_kind kind = allocate;
  bool is_chosen = false;    // the block is of the site that the remedy is for
  bool is_outgrown = false;  // the released block was replaced by a larger one
  std::uint32_t slot = 0, source_slot = 0, bytes = 0;
  bool operator==(const replay_step&) const = default;
};
struct replay_plan {
  std::uint32_t slots = 0;
  std::vector<replay_step> before, steps, after;  // the blocks from before the excerpt, the excerpt, and the rest
};
// `sites` holds site numbers in order.
replay_plan plan_of(const format::excerpt_facts& excerpt, const std::vector<std::uint32_t>& sites);

struct replay_job {
  bool has_one_thread = false;       // the program had one thread
  bool is_of_first_thread = true;    // the excerpts are those of the first thread
  bool uses_new = false;             // the blocks come from operator new
  bool is_copied_text = false;       // the blocks hold copies of strings, which a view can replace
  bool is_filled = false;            // the blocks belong to containers, which fill the memory that they request
  bool is_whole = false;             // all sites of a program: no remedy is replayed but the drop-in
  std::uint32_t reserved_bytes = 0;  // bytes to reserve for a growing buffer; 0: nothing grows
  std::vector<replay_plan> plans;
};
// Builds a job from the excerpts that contain most of the allocations of the chosen sites. These sites are of one
// image and in order. The job has no plans if the excerpts contain too few such allocations. It leaves uses_new,
// is_copied_text, is_filled and reserved_bytes unset.
replay_job job_of(const format::recording& recording, const std::vector<std::uint32_t>& sites);
// Builds a job of many sites at once (`is_whole`). Its result has `drop_in` alone, and in `now` the time of everything
// that is repeated, with the repetition itself.
replay_job whole_job_of(const format::recording& recording, const std::vector<std::uint32_t>& sites);
// Sets reserved_bytes, or sets it to 0 if that many bytes for each chosen block exceed the memory limit of the
// report.
void reserve(replay_job& job, std::uint64_t bytes);
// These convert jobs to bytes for the pipe, and back. `decode_jobs` throws format::unreadable.
std::string encode(const std::vector<replay_job>& jobs);
std::vector<replay_job> decode_jobs(std::string_view bytes);

// Nanoseconds of each chosen allocation with its free, beside three kinds of other work.
struct call_ns {
  double overlapping = 0;   // no other work: calls follow one another and overlap
  double mispredicted = 0;  // unpredictable branches before each call: then nothing overlaps, and the branches
                            // of the allocator are mispredicted as well
  double hidden = 0;        // a dependency chain that leaves the CPU time for most of a call
  // `share` is the share of calls that follow a mispredicted branch.
  double at_misprediction_rate(double share) const { return overlapping + share * (mispredicted - overlapping); }
  call_ns operator-(const call_ns& cheaper) const {
    return {overlapping - cheaper.overlapping, mispredicted - cheaper.mispredicted, hidden - cheaper.hidden};
  }
};
// The current cost, and the saving of each remedy. The values of a site that was not replayed are 0.
struct replayed {
  call_ns now, hoist, recycle, pooled, arena, reserve, drop_in;
};
std::string json_of(const std::vector<replayed>& results);
// Throws nlohmann::json::exception if the text is not valid.
std::vector<replayed> replayed_from(const std::string& json);

}  // namespace tarn::analyse
