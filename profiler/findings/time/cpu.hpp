// Finds where a program's CPU time goes, function by function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "profiler/findings/time/sampled_shares.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// Gives the stacks and threads of the processor's samples numbers among the recording's sites and threads, and their
// modules a place among its modules. The recording's other parts stay as they are.
format::recording with_cpu_sites(format::recording recording);

struct cpu_function {
  code_location location;                            // of the sample that came first: the line is one of several
  std::uint64_t self = 0;                            // samples in the function itself
  std::uint64_t total = 0;                           // samples in it or in what it called
  share_estimate self_share = {}, total_share = {};  // of the CPU time
};

struct cpu_findings {
  std::uint64_t samples = 0, kernel = 0, cut = 0, lost = 0;
  std::uint64_t interval_ns = 0;  // CPU time that a sample stands for; 0: the processor was not sampled
  bool is_kernel_hidden = false;
  std::uint64_t without_python = 0;                // samples in CPython's loop whose Python functions are not known
  std::uint64_t recorder = 0;                      // samples in libtarn-record.so itself
  std::vector<cpu_function> functions;             // the most time of their own first
  std::map<std::uint32_t, std::uint64_t> threads;  // samples by thread
  sampled_shares shares;
};

// `recording` comes from with_cpu_sites(). Inlined functions count as functions.
cpu_findings find_cpu(const format::recording& recording, symbols& symbols);

// Returns the share of the CPU time in stacks with a location that `is_meant` accepts.
share_estimate share_at(const format::recording& recording, symbols& symbols,
                        const std::function<bool(const code_location&)>& is_meant);

}  // namespace tarn::analyse
