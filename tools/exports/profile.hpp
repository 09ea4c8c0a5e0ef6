// A recording as the tools of others see one: stacks of named functions, and what was counted for each. The formats are
// written from this.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/symbols.hpp"
#include "exports/measures.hpp"
#include "format/recording.hpp"

namespace tarn::exports {

enum class source { heap, lock, call };
std::string_view name(source of);

// A return address, with what was inlined there.
struct location {
  const std::vector<analyse::place>* lines = nullptr;  // innermost first; never empty
  std::uint64_t address = 0;                           // in the call
  std::size_t module = 0;                              // in the recording's; `no_module` where it is in none
};
constexpr std::size_t no_module = ~std::size_t{0};

// What one thread did at one stack; of the heap, with the blocks that one thread freed.
struct sample {
  std::uint32_t site = 0;    // in profile::stacks
  std::uint32_t thread = 0;  // that allocated, or acted; in the recording's
  std::uint32_t freed_by = 0;
  source from = source::heap;
  std::string_view category;  // of the site: "transient", "contended", "small" …
  std::string_view what;      // "mutex", "read"; of the heap empty
  values counted{};
};

// Bound to the recording, which must outlive it.
class profile {
 public:
  // Resolves all names: a second or so for 10,000 sites with debug information.
  explicit profile(const format::recording& of);
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;

  const format::recording& recorded() const { return recording_; }
  const std::vector<location>& locations() const { return locations_; }
  // Of each site, innermost first, numbers of locations; without the recorder's own.
  const std::vector<std::vector<std::uint32_t>>& stacks() const { return stacks_; }
  // None of them is all zeroes.
  const std::vector<sample>& samples() const { return samples_; }
  // Those that are not zero everywhere; `bytes` alone of a recording without any.
  const std::vector<measure>& used() const { return used_; }
  bool is_estimate() const { return recording_.program.mode == "sampled"; }

 private:
  void add_stacks();
  void add_heap();
  void add_locks();
  void add_calls();
  void add(const sample& one);
  std::string_view kept(std::string text) { return *texts_.insert(std::move(text)).first; }

  const format::recording& recording_;
  analyse::symbols symbols_;
  std::vector<location> locations_;
  std::vector<std::vector<std::uint32_t>> stacks_;
  std::vector<sample> samples_;
  std::vector<measure> used_;
  std::set<std::string> texts_;
};

// The frame of a stack without any: of the site that stands for those beyond the recorder's limit.
constexpr std::string_view no_stack = "[not recorded]";

// The last part of a path.
std::string file_name(const std::string& path);
// What every format says of a frame: the function, or where the name is not known, the file and the place in it.
std::string frame_name(const analyse::place& of);
// "worker (4712)"; of a later image, which exec began, with its number.
std::string thread_name(const format::recording& in, std::uint32_t thread);
// What stands as the innermost frame where a format knows no labels: "[transient]", "[read: small]".
std::string leaf_name(const sample& of);
// The command line.
std::string program_name(const format::recording& in);

}  // namespace tarn::exports
