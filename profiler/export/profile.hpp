// A recording as other tools see one: stacks of named functions, and the counts of each. The formats are written from
// this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/advise/analysis.hpp"
#include "profiler/export/measures.hpp"

namespace tarn::exports {

enum class sample_source { heap, lock, call, cpu, wait };
std::string_view name(sample_source source);

// A return address, with the functions that were inlined there.
struct location {
  const std::vector<analyse::code_location>* lines = nullptr;  // innermost first; never empty
  std::uint64_t address = 0;                                   // the address inside the call
  std::size_t module = 0;                                      // index in the recording's modules, or `no_module`
};
constexpr std::size_t no_module = ~std::size_t{0};

// One thread's activity at one stack; for the heap, with the blocks that one thread freed.
struct sample {
  std::uint32_t site = 0;    // index in profile::stacks
  std::uint32_t thread = 0;  // index in the recording's threads: the one that allocated, or acted
  std::uint32_t freed_by = 0;
  sample_source source = sample_source::heap;
  std::string_view category;   // the site's: "same-thread", "contended", "small" …
  std::string_view operation;  // "mutex", "read"; empty for the heap and the processor
  values sums{};
};

// Refers to the analysis, which must outlive it.
class profile {
 public:
  // Resolves all names, which takes a second or so for 10,000 sites with debug information.
  explicit profile(analyse::analysis& analysis);
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;

  const format::recording& recording() const { return recording_; }
  analyse::analysis& analysis() const { return analysis_; }
  const std::vector<location>& locations() const { return locations_; }
  // Location numbers of each site, innermost first, without the recorder's own frames.
  const std::vector<std::vector<std::uint32_t>>& stacks() const { return stacks_; }
  // No sample is all zeroes.
  const std::vector<sample>& samples() const { return samples_; }
  // The measures that are not zero everywhere; `bytes` alone for a recording without any.
  const std::vector<measure>& used_measures() const { return used_measures_; }
  std::uint64_t length_ns() const;
  bool is_heap_estimated() const {
    return recording_.program.mode == "sampled" && recording_.program.has_source("heap");
  }

 private:
  void add_stacks(analyse::symbols& symbols);
  void add_heap(const analyse::heap_findings& heap);
  void add_locks(const analyse::lock_findings& locks);
  void add_calls(const analyse::call_findings& calls_made);
  void add_cpu();
  void add(const sample& sample);

  analyse::analysis& analysis_;
  const format::recording& recording_;
  std::vector<location> locations_;
  std::vector<std::vector<std::uint32_t>> stacks_;
  std::vector<sample> samples_;
  std::vector<measure> used_measures_;
};

// The frame of a stack without frames: the site that stands for those beyond the recorder's limit.
constexpr std::string_view no_stack = "[not recorded]";

// Returns the text that every format shows for a frame: the function, or if the name is unknown, the file and the
// offset in it.
std::string frame_name(const analyse::code_location& location);
// Returns "worker (4712)", or "thread 4712" if it has no name. ", image 2" follows if there are several images.
std::string thread_name(const format::recording& recording, std::uint32_t thread);
// Returns the innermost frame of formats without labels: "[same-thread]", "[read: small]".
std::string leaf_name(const sample& sample);
// Returns the command line.
std::string program_name(const format::recording& recording);

}  // namespace tarn::exports
