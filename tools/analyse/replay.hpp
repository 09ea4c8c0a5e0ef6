// What the excerpts of a recording say of one site, as steps that `tarn measure replay` repeats: with the program's own
// allocator, and as if a remedy served the site. What the C library takes for a block depends on what came before:
// how many of its size are free, what else was asked for, in which order. The excerpts have that, and no table has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/costs.hpp"
#include "analyse/findings.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

// Blocks have places, numbered from 0, that are used once.
struct replay_step {
  enum kind : std::uint8_t {
    allocate,  // `bytes` at `place`
    release,   // what is at `place`, of `bytes`
    resize,    // by realloc: what is at `from`, to `bytes` at `place`
    grow,      // a larger one at `place`, and what is at `from` copied there; it is released by a later step
  };
  kind is = allocate;
  bool chosen = false;    // of the site that the remedy is for
  bool outgrown = false;  // a release of what another block took the place of
  std::uint32_t place = 0, from = 0, bytes = 0;
  bool operator==(const replay_step&) const = default;
};
struct replay_plan {
  std::uint32_t places = 0;
  std::vector<replay_step> before, steps, after;  // the blocks from before the excerpt; the excerpt; what is left
};
// `chosen`: numbers of sites, in order.
replay_plan plan_of(const format::excerpt_facts& of, const std::vector<std::uint32_t>& chosen);

struct replay_job {
  bool alone = false;                // the program had one thread
  bool first_thread = true;          // whose excerpts these are
  bool by_new = false;               // through operator new
  bool is_copied_text = false;       // the blocks are of copies of strings, in the place of which is a view
  bool is_filled = false;            // the blocks are of containers, which fill what they ask for
  std::uint32_t reserved_bytes = 0;  // for what grows; 0: nothing does
  std::vector<replay_plan> plans;
};
// From the excerpts that have most of the allocations of the sites with these numbers, which are of one image and in
// order; without plans where they have too few. Not set: by_new, is_copied_text, is_filled, reserved_bytes.
replay_job job_of(const format::recording& in, const std::vector<std::uint32_t>& chosen);
// Bytes for the pipe, and back. `jobs_from` throws format::unreadable.
std::string bytes_of(const std::vector<replay_job>& jobs);
std::vector<replay_job> jobs_from(std::string_view bytes);

// Nanoseconds for each chosen allocation with its free, beside three kinds of other work.
struct call_ns {
  double overlapping = 0;  // none: calls follow one another, and overlap
  double surprised = 0;    // branches that no processor can guess before each call: then nothing overlaps, and those of
                           // the allocator are guessed wrong as well
  double hidden = 0;       // a chain that waits for itself, and leaves the processor time for most of a call
  // `share`: of the calls that follow such a branch.
  double at(double share) const { return overlapping + share * (surprised - overlapping); }
};
// What it takes now, and what each remedy saves; all 0 where that was not repeated.
struct replayed {
  call_ns now, hoist, recycle, pooled, arena, reserve;
};
std::string json_of(const std::vector<replayed>& all);
// Throws nlohmann::json::exception.
std::vector<replayed> replayed_from(const std::string& json);

}  // namespace tarn::analyse
