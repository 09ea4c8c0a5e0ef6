#include "profiler/collect/summary.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/base/shell_word.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/findings/limits.hpp"
#include "profiler/findings/time/cpu.hpp"
#include "profiler/findings/time/thread_roles.hpp"
#include "profiler/findings/unrecorded.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/predict/recording_cost.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

// `all_threads` is 0 where it is not known.
std::string summary_text(const format::recording& recording, std::uint32_t sources, std::uint64_t all_threads) {
  using enum format::kind;
  std::uint64_t blocks = 0;
  for (const format::thread_facts& thread : recording.threads) blocks += thread.allocations;
  std::string text;
  const auto add_count = [&](bool is_recorded, std::uint64_t count, const char* noun, const char* remark) {
    if (is_recorded) text += (text.empty() ? "" : ", ") + count_text(count, noun) + remark;
  };
  const auto has = [&](format::kind source) { return (sources & source_bit(source)) != 0; };
  add_count(has(heap_kind), blocks, "allocation", "");
  if (has(lock_kind)) {
    const analyse::lock_findings locks = analyse::find_locks(recording);
    add_count(true, locks.acquisitions, "lock", locks.error == 0 ? " taken" : " taken (estimated)");
  }
  std::uint64_t samples = 0;
  for (const auto& [key, value] : recording.cpu.cells) samples += value[format::cpu_samples];
  add_count(recording.cpu.interval_ns != 0, samples, "CPU sample", "");
  if (has(call_kind)) {
    const analyse::call_findings calls = analyse::find_calls(recording);
    text += (text.empty() ? "" : ", ") + estimate_text(calls.calls, calls.error, "system call");
  }
  // A file that begins late also names sites and threads of before.
  std::set<std::uint32_t> sites;
  const auto add_sites = [&](const auto& cells) {
    for (const auto& [key, value] : cells) sites.insert(sites.end(), key.site);
  };
  add_sites(recording.cells);
  add_sites(recording.calls);
  add_sites(recording.acquisitions);
  add_sites(recording.cpu.cells);
  const std::set<std::uint32_t> threads = active_threads(recording);
  sites.erase(0);  // stands for all beyond the limit
  const std::size_t count = count_of_threads(recording, threads);
  const std::string seen_threads = count < all_threads && !threads.empty()
                                       ? fmt::format("{} of {}", group_digits(count), count_text(all_threads, "thread"))
                                       : count_text(count, "thread");
  return text + fmt::format(" at {} by {}", count_text(sites.size(), "call stack"), seen_threads);
}

}  // namespace

void print_summary(std::uint32_t sources, process_recording& recording) {
  const region_file& region = recording.region();
  for (const std::string& line : unrecorded_text(recording.now())) print_error("tarn: {}\n", line);
  if (const std::string limits = limits_text(recording.now()); !limits.empty()) print_error("tarn: {}\n", limits);
  if (region.images() == 0) {
    if (region.problem() != 0) {
      print_error("tarn: nothing was recorded: no address space for the recorder: {}\n",
                  system_error_text(region.problem()));
    } else {
      print_error(
          "tarn: nothing was recorded: the program did not load libtarn-record.so (static, set-uid, or it clears "
          "LD_PRELOAD?): name the program itself, or use --follow; AddressSanitizer needs "
          "ASAN_OPTIONS=verify_asan_link_order=0\n");
    }
    return;
  }
  if (region.call_problem() != 0) {
    print_error("tarn: system calls were not recorded: {}\n", system_error_text(region.call_problem()));
  }
  // The figures are those of the report, which reads the file.
  const format::recording recorded_facts = analyse::with_cpu_sites(analyse::reconcile_calls(recording.take_file()));
  if (const format::module_facts* const module = own_malloc_in(recorded_facts)) {
    print_error("tarn: {}\n", own_malloc_text(*module));
  }
  if (const std::uint64_t lost = recorded_facts.cpu.lost; lost != 0)
    print_error("tarn: the kernel had no room for {} records of the processor; they are missing\n", lost);
  if (!recording.is_whole() || !recording.save_if_replaced()) return;
  print_error("tarn: {}; {}\n", analyse::cost_text_of(recorded_facts), analyse::collector_text_of(recorded_facts));
  if (const std::string doubt = analyse::doubt_text_of(recorded_facts); !doubt.empty())
    print_error("tarn: {}\n", doubt);
  print_error("tarn: {}, in {} ({} bytes); see it with: tarn report {}\n",
              summary_text(recorded_facts, sources, recording.all_threads()), recording.path(),
              group_digits(recording.bytes()), shell_word(recording.path()));
}

}  // namespace tarn::command
