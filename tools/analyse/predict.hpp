// What a site costs, and what it would cost if something else served its blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/costs.hpp"
#include "analyse/findings.hpp"
#include "analyse/replay.hpp"

namespace tarn::analyse {

enum class remedy {
  hoist,    // allocate once, outside of the loop
  reserve,  // allocate what it grows to at once
  recycle,  // tarn::recycle<T>()
  pooled,   // tarn::pooled<T>, tarn::allocator<T>
  arena,    // tarn::arena
  shared,   // tarn::shared_pool<T>
  drop_in,  // tarn run
};
const char* name(remedy of);

struct prediction {
  remedy by = remedy::drop_in;
  range ns;                       // what the site would cost then
  range saved_ns;                 // below 0 where it may cost more
  std::uint64_t calls_saved = 0;  // allocations that would not happen
  bool at_least = false;          // it spares more than any recording shows: what is above `high` is no surprise
};

struct site_prediction {
  range now_ns;
  std::vector<prediction> remedies;  // that fit the site, the one to take first in front; empty where none does
  std::vector<std::string> reasons;  // why the ranges are as wide as they are
};

// The allocations of a site, or of several that grow the same buffers, step by step instead of reserving.
struct growth {
  std::uint64_t steps = 0;    // allocations that a reserve would spare; 0 where nothing grows
  std::uint64_t buffers = 0;  // that grew
  std::uint64_t bytes = 0;    // to reserve: enough for nine of ten buffers
  std::uint64_t blocks = 0;   // all allocations, of which the steps are some
};
growth growth_of(const site& of);

// Puts what was found by repeating the excerpts in the place of what the prices said. `surprises`: the share of the
// calls that follow a branch that was guessed wrong; none where it is not known.
void correct(site_prediction& that, const site& of, const replayed& by, std::optional<double> surprises);
// That share, of all of a program; its processor's count over its allocations and frees.
std::optional<double> surprises_in(const format::recording& in);

struct program_costs {
  range cpu_ns;        // of the program without its recorder
  range recorder_ns;   // of the recorder, as far as it can be told
  double wall_ns = 0;  // of the recorded run
  range heap_ns;       // of all sites, now
  range drop_in_saves_ns;
};

class predictor {
 public:
  predictor(const format::recording& of, const costs& prices);

  site_prediction of(const site& one) const { return of(one, growth_of(one)); }
  // `grown`: of the buffers of this site, which others may grow as well.
  site_prediction of(const site& one, const growth& grown) const;
  // `measured_cpu_ns`: of the program without a recorder, where it is known; else 0.
  program_costs of(const heap_findings& all, double measured_cpu_ns = 0) const;

  bool is_on_drop_in(const site& one) const { return serves(one) == server::drop_in; }

 private:
  server serves(const site& one) const;
  site_prediction counted(const site& one, const growth& grown) const;  // as if its counts were exact

  const format::recording& recording_;
  const costs& prices_;
  bool is_sampled_;
  std::vector<bool> is_threaded_, is_on_drop_in_;  // by image
};

}  // namespace tarn::analyse
