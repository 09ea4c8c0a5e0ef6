// `tarn report`: what a recording says, as text for a terminal and as JSON for programs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyse/findings.hpp"
#include "format/reader.hpp"
#include "tarn/commands.hpp"
#include "tarn/failure.hpp"

namespace tarn::command {
namespace {

using analyse::place;
using format::counter;
using nlohmann::json;

struct report_request {
  std::string path;
  bool as_json = false;
  std::size_t top = 10;
};

constexpr std::size_t shown_frames = 4;  // of a site in the text; the JSON has all

std::string short_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// `main.cpp:12 serve(int)`, with what is known.
std::string words_of(const place& at) {
  const std::string where = at.file.empty() ? fmt::format("{}+{:#x}", short_name(at.module), at.offset)
                                            : fmt::format("{}:{}", short_name(at.file), at.line);
  return at.function.empty() ? where : where + ' ' + at.function;
}

std::string end_words(const format::recording& in) {
  if (!in.ended) return "still running, or lost its recorder";
  return fmt::format("{} {}", in.end.by_signal ? "killed by signal" : "exit code", in.end.status);
}

double seconds(std::uint64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }
double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string size_words(const analyse::site& of) {
  const auto used = [&](std::size_t bucket) { return of.sums[counter::size_buckets + bucket] != 0; };
  std::size_t low = 0, high = counter::size_bucket_count - 1;
  while (low < high && !used(low)) ++low;
  while (high > low && !used(high)) --high;
  const std::string from = low == 0 ? "0" : std::to_string(format::size_bucket_end(low - 1) + 1);
  return high == counter::size_bucket_count - 1 ? from + " bytes and more"
                                                : fmt::format("{} to {} bytes", from, format::size_bucket_end(high));
}

void print_site(const format::recording& in, const analyse::site& of, std::size_t rank, analyse::symbols& by) {
  const std::uint64_t blocks = of.sums[counter::blocks];
  fmt::print("\n{}. {}: {} allocations, {} bytes, blocks of {}\n", rank, analyse::name(of.is), blocks,
             of.sums[counter::bytes], size_words(of));
  fmt::print("   by {} thread{}; freed {} by the same, {} by others; {} in use at the end", of.threads,
             of.threads == 1 ? "" : "s", of.freed_by_same_thread, of.freed_by_other_thread, of.live);
  if (of.freed_by_same_thread != 0) {
    fmt::print("; {:.0f} % short-lived", percent(of.short_lived, of.freed_by_same_thread));
  }
  if (of.error != 0) fmt::print("; counts ± {:.0f} %", of.error * 100);
  fmt::print("\n");
  if (!of.pairs.empty()) {
    const analyse::pair& most = of.pairs.front();
    fmt::print("   thread {} frees {} blocks of thread {}{}\n", in.threads[most.frees].id, most.blocks,
               in.threads[most.allocates].id,
               of.pairs.size() > 1 ? fmt::format(", and {} more pairs", of.pairs.size() - 1) : "");
  }
  const std::vector<place> stack = analyse::stack_of(in, of, by);
  for (std::size_t at = 0; at < std::min(shown_frames, stack.size()); ++at) {
    fmt::print("   {} {}\n", at == 0 ? "at" : "by", words_of(stack[at]));
  }
  if (stack.empty()) fmt::print("   at sites beyond the recorder's limit\n");
  fmt::print("   → {}\n", of.remedy.empty() ? "nothing to gain" : of.remedy);
}

void print_text(const format::recording& in, const analyse::heap_findings& heap, const report_request& request) {
  std::string words;
  for (const std::string& word : in.program.words) words += (words.empty() ? "" : " ") + word;
  fmt::print("{}\n", words);
  fmt::print("{}; {:.2f} s, {:.2f} s of processor time; {} threads allocated; on {}\n", end_words(in),
             seconds(in.end.wall_us), seconds(in.end.user_us + in.end.system_us), in.threads.size(),
             in.program.machine);
  if (in.images > 1) fmt::print("{} programs, one after the other by exec\n", in.images);
  fmt::print("{} allocations, {} bytes; {} frees; {} blocks in use at the end\n", heap.allocations, heap.bytes,
             heap.frees, heap.live);
  if (heap.forgotten != 0) fmt::print("{} events are missing: the recorder had no room for them\n", heap.forgotten);
  for (const auto kind : {analyse::category::transient, analyse::category::shared, analyse::category::start_up,
                          analyse::category::kept}) {
    std::uint64_t sites = 0, blocks = 0;
    for (const analyse::site& each : heap.sites) {
      if (each.is != kind) continue;
      ++sites;
      blocks += each.sums[counter::blocks];
    }
    fmt::print("{:>10} {:>14} allocations {:>5.1f} %, at {} sites\n", analyse::name(kind), blocks,
               percent(blocks, heap.allocations), sites);
  }
  if (std::none_of(heap.sites.begin(), heap.sites.end(), [](const auto& each) { return !each.remedy.empty(); })) {
    fmt::print("Nothing to gain: no site allocates often enough.\n");
  }
  analyse::symbols by(in);
  for (std::size_t at = 0; at < std::min(request.top, heap.sites.size()); ++at)
    print_site(in, heap.sites[at], at + 1, by);
}

json json_of(const format::recording& in, const analyse::site& of, analyse::symbols& by) {
  const auto histogram = [&](std::size_t first, std::size_t count) {
    const auto start = of.sums.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<std::uint64_t>(start, start + static_cast<std::ptrdiff_t>(count));
  };
  json stack = json::array(), pairs = json::array();
  for (const place& at : analyse::stack_of(in, of, by)) {
    stack.push_back({{"function", at.function},
                     {"file", at.file},
                     {"line", at.line},
                     {"module", at.module},
                     {"offset", at.offset}});
  }
  for (const analyse::pair& each : of.pairs) {
    pairs.push_back({{"allocates", each.allocates}, {"frees", each.frees}, {"blocks", each.blocks}});
  }
  return {{"category", analyse::name(of.is)},
          {"allocations", of.sums[counter::blocks]},
          {"error", of.error},
          {"bytes", of.sums[counter::bytes]},
          {"threads", of.threads},
          {"freed_by_same_thread", of.freed_by_same_thread},
          {"freed_by_other_thread", of.freed_by_other_thread},
          {"live_at_end", of.live},
          {"short_lived", of.short_lived},
          {"reallocs", of.sums[counter::reallocs]},
          {"moved", of.sums[counter::moved]},
          {"copied_bytes", of.sums[counter::copied]},
          {"from_start_up", of.sums[counter::early]},
          {"sizes", histogram(counter::size_buckets, counter::size_bucket_count)},
          {"lifetimes", histogram(counter::life_buckets, counter::life_bucket_count)},
          {"times", histogram(counter::time_buckets, counter::time_bucket_count)},
          {"pairs", pairs},
          {"stack", stack},
          {"remedy", of.remedy}};
}

void print_json(const format::recording& in, const analyse::heap_findings& heap, const report_request& request) {
  json threads = json::array(), sites = json::array();
  for (const format::thread_facts& each : in.threads) threads.push_back({{"image", each.image}, {"id", each.id}});
  analyse::symbols by(in);
  for (std::size_t at = 0; at < std::min(request.top, heap.sites.size()); ++at) {
    sites.push_back(json_of(in, heap.sites[at], by));
  }
  const json all = {{"version", 1},
                    {"program",
                     {{"words", in.program.words},
                      {"process", in.program.process},
                      {"machine", in.program.machine},
                      {"images", in.images}}},
                    {"end", in.ended ? json{{"by_signal", in.end.by_signal},
                                            {"status", in.end.status},
                                            {"wall_us", in.end.wall_us},
                                            {"user_us", in.end.user_us},
                                            {"system_us", in.end.system_us}}
                                     : json()},
                    {"damage", in.damage},
                    {"recorder", {{"mode", in.program.mode}, {"forgotten", heap.forgotten}}},
                    {"heap",
                     {{"allocations", heap.allocations},
                      {"frees", heap.frees},
                      {"bytes", heap.bytes},
                      {"live_at_end", heap.live},
                      {"unknown_frees", heap.unknown}}},
                    {"threads", threads},
                    {"sites", sites}};
  // Names in a program's files may be any bytes.
  fmt::print("{}\n", all.dump(1, ' ', false, json::error_handler_t::replace));
}

void report(const report_request& request) {
  try {
    const format::recording in = format::read(request.path);
    if (!in.damage.empty()) {
      fmt::print(stderr, "tarn: {}: {}; what came before is shown\n", request.path, in.damage);
    }
    const analyse::heap_findings heap = analyse::find(in);
    request.as_json ? print_json(in, heap, request) : print_text(in, heap, request);
  } catch (const format::unreadable& reason) {
    fail(exit_code::usage, "{}", reason.what());
  }
}

}  // namespace

void add_report(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("report", "Show what a recording says: its sites, their category, a remedy.");
  const auto request = std::make_shared<report_request>();
  command->add_option("FILE", request->path, "the recording")->required();
  command->add_flag("--json", request->as_json, "as JSON");
  command->add_option("--top", request->top, "sites to show; 10 if not given")->type_name("N");
  command->callback([request] { report(*request); });
}

}  // namespace tarn::command
