// `tarn diff`: shows what changed between two recordings, site by site, with the predicted saving beside the
// achieved.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyse/difference.hpp"
#include "analyse/uses.hpp"
#include "tarn/calibrate.hpp"
#include "tarn/commands.hpp"
#include "tarn/failure.hpp"
#include "tarn/own_heap.hpp"
#include "tarn/page.hpp"
#include "tarn/page_names.hpp"
#include "tarn/report.hpp"
#include "tarn/views.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using analyse::change;
using analyse::place_sums;
using analyse::range;
using nlohmann::json;

struct diff_request {
  std::string before, after;
  std::vector<double> cpu_seconds;  // processor time of both programs without a recorder; empty: not known
  bool as_json = false;
  std::string page;  // file to write the HTML report to; empty: none
  bool redact = false;
  std::size_t top = 10;
};

// One of the two recordings.
struct side {
  side(const std::string& path, const analyse::costs& prices, double cpu_seconds)
      : all(read_recording(path), prices, cpu_seconds * 1e9), sums(analyse::sums_by_place(all_views(all))) {
    analyse::symbols by(all.recorded());
    locks = analyse::locks_in(all.recorded(), by);
    calls = analyse::calls_in(all.recorded(), by);
  }
  analyse::analysis all;
  std::vector<place_sums> sums;
  std::vector<analyse::use> locks, calls;
};

// Returns the range that both bounds allow: from the least of one minus the most of the other.
range saved_cpu(const side& before, const side& after) {
  const range from = before.all.whole().cpu_ns, to = after.all.whole().cpu_ns;
  return {from.low - to.high, from.high - to.low};
}

range predicted_of(const analyse::difference& of) {
  range sum;
  for (const change& each : of.changes) {
    if (each.is_taken) sum += each.before->first->predicted.saved_ns;
  }
  return sum;
}

std::string milliseconds(const range& ns) { return range_words(ns * 1e-6) + " ms"; }

std::string where(const place_sums& of) {
  const std::string file = of.file.substr(of.file.find_last_of('/') + 1);
  return of.line == 0 ? file + ' ' + of.function : fmt::format("{}:{} {}", file, of.line, of.function);
}

std::string verdict(const change& of) {
  if (!of.before || !of.before->first) return "not predicted";
  if (of.is_as_predicted()) return "as predicted";
  const range got = of.achieved_ns(), said = of.before->first->predicted.saved_ns;
  if (got.high < said.low) return "less than predicted";
  return got.low > said.high ? "more than predicted" : "but it was not taken";
}

void print_change(const change& of, std::size_t rank, const paint& with) {
  const place_sums shown = of.after ? *of.after : of.before.value_or(place_sums());
  fmt::print("\n{}. {}\n", rank, with.strong(cut(where(shown), page_width - 6)));
  const auto number = [](const std::optional<place_sums>& side) { return grouped(side ? side->allocations : 0); };
  const char* const is = of.before && of.after ? "" : of.before ? ", gone" : ", new";
  fmt::print("   {} → {} allocations{}", number(of.before), number(of.after), is);
  if (of.before && of.after && of.before->is != of.after->is) {
    fmt::print("; {} → {}", analyse::name(of.before->is), analyse::name(of.after->is));
  }
  fmt::print("\n");
  const range got = of.achieved_ns();
  if (got.middle() < 0) {
    fmt::print("   {}\n", with.bad("costs " + milliseconds({-got.high, -got.low}) + " more"));
    return;
  }
  std::string words = "saves " + milliseconds(got);
  if (of.before && of.before->first) {
    const analyse::prediction& said = of.before->first->predicted;
    words += fmt::format("; predicted by {}: {}: {}", analyse::name(said.by), milliseconds(said.saved_ns), verdict(of));
  }
  fmt::print("   {}\n", with.good(cut(words, page_width - 3)));
}

// Prints locks or system calls, where either program has any.
void print_uses(const analyse::use_difference& all, const char* title, const char* unit, const char* time,
                std::size_t top, const paint& with) {
  if (all.before.count == 0 && all.after.count == 0) return;
  const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; };
  fmt::print("\n{}: {} → {} {}; {:.1f} → {:.1f} ms {}\n", with.bold(title), grouped(all.before.count),
             grouped(all.after.count), unit, ms(all.before.nanoseconds), ms(all.after.nanoseconds), time);
  for (std::size_t at = 0; at < std::min(top, all.changes.size()); ++at) {
    const analyse::use_change& each = all.changes[at];
    const analyse::use shown = each.after ? *each.after : each.before.value_or(analyse::use());
    const std::string file = shown.file.substr(shown.file.find_last_of('/') + 1);
    const std::string counts =
        fmt::format(" {} → {}, {:.1f} → {:.1f} ms", grouped(each.before ? each.before->count : 0),
                    grouped(each.after ? each.after->count : 0), ms(each.before ? each.before->nanoseconds : 0),
                    ms(each.after ? each.after->nanoseconds : 0));
    const std::string where = fmt::format("{} in {} {}", shown.what, file, shown.function);
    fmt::print("   {}{}\n", cut(where, page_width - 3 - std::min<std::size_t>(counts.size(), 50)), counts);
  }
}

void print_text(const side& before, const side& after, const analyse::difference& all, const diff_request& request) {
  const paint with;
  fmt::print("before  {}\n", cut(program_words_of(before.all.recorded()), page_width - 8));
  fmt::print("after   {}\n", cut(program_words_of(after.all.recorded()), page_width - 8));
  for (const side* const each : {&before, &after}) {
    if (const format::module_facts* const own = own_heap_in(each->all.recorded())) {
      fmt::print("{}.\n", with.bold(own_heap_words(*own)));
    }
  }
  for (std::size_t at = 0; at < analyse::category_count; ++at) {
    if (all.before[at] == 0 && all.after[at] == 0) continue;
    const double from = static_cast<double>(all.before[at]), to = static_cast<double>(all.after[at]);
    fmt::print("{:>10} {:>16} → {:>16} allocations{}\n", analyse::name(static_cast<analyse::category>(at)),
               grouped(all.before[at]), grouped(all.after[at]),
               from == 0 ? "" : fmt::format(" {:>+8.1f} %", 100 * (to - from) / from));
  }
  fmt::print("The heap cost {}, and now {}.\n", milliseconds(all.before_ns), milliseconds(all.after_ns));
  const analyse::use_difference locks = analyse::compare(before.locks, after.locks);
  const analyse::use_difference calls = analyse::compare(before.calls, after.calls);
  const bool is_unchanged = all.changes.empty() && locks.changes.empty() && calls.changes.empty();
  if (!all.changes.empty()) fmt::print("Predicted of the remedies taken: {}.\n", milliseconds(predicted_of(all)));
  // Without a change, the difference would come from the recorders' own time and from the machine.
  if (!is_unchanged || !request.cpu_seconds.empty()) {
    fmt::print("{}\n", with.bold(fmt::format("Processor time saved{}: {}.",
                                             request.cpu_seconds.empty() ? ", without what the recorder took" : "",
                                             milliseconds(saved_cpu(before, after)))));
  }
  if (is_unchanged) fmt::print("{}\n", with.bold("No change."));
  if (all.changes.empty()) fmt::print("No site changed.\n");
  for (std::size_t at = 0; at < std::min(request.top, all.changes.size()); ++at) {
    print_change(all.changes[at], at + 1, with);
  }
  print_uses(locks, "Locks", "taken", "waited", request.top, with);
  print_uses(calls, "System calls", "made", "in the kernel", request.top, with);
}

json json_of(const range& of) { return {of.low, of.high}; }

json json_of(const std::optional<analyse::use>& of) {
  if (!of) return nullptr;
  return {{"what", of->what},
          {"function", of->function},
          {"file", of->file},
          {"count", of->count},
          {"nanoseconds", of->nanoseconds}};
}

json json_of(const analyse::use_difference& of, std::size_t top) {
  json changes = json::array();
  for (std::size_t at = 0; at < std::min(top, of.changes.size()); ++at) {
    changes.push_back({{"before", json_of(of.changes[at].before)}, {"after", json_of(of.changes[at].after)}});
  }
  return {{"before", {{"count", of.before.count}, {"nanoseconds", of.before.nanoseconds}}},
          {"after", {{"count", of.after.count}, {"nanoseconds", of.after.nanoseconds}}},
          {"changes", changes}};
}

json json_of(const std::optional<place_sums>& of) {
  if (!of) return nullptr;
  return {{"function", of->function},
          {"file", of->file},
          {"line", of->line},
          {"category", analyse::name(of->is)},
          {"allocations", of->allocations},
          {"bytes", of->bytes},
          {"copied_bytes", of->copied},
          {"hand_overs", of->handed_over},
          {"now_ns", json_of(of->now_ns)},
          {"remedy", of->remedy}};
}

json json_of(const change& of) {
  json predicted;
  if (of.before && of.before->first) {
    const analyse::prediction& said = of.before->first->predicted;
    predicted = {
        {"name", analyse::name(said.by)}, {"saved_ns", json_of(said.saved_ns)}, {"holds", of.is_as_predicted()}};
  }
  return {{"before", json_of(of.before)},
          {"after", json_of(of.after)},
          {"achieved_ns", json_of(of.achieved_ns())},
          {"predicted", predicted}};
}

json json_of(const side& before, const side& after, const analyse::difference& all, std::size_t top) {
  json categories = json::object(), changes = json::array();
  for (std::size_t at = 0; at < analyse::category_count; ++at) {
    categories[analyse::name(static_cast<analyse::category>(at))] = {{"before", all.before[at]},
                                                                     {"after", all.after[at]}};
  }
  for (std::size_t at = 0; at < std::min(top, all.changes.size()); ++at) {
    changes.push_back(json_of(all.changes[at]));
  }
  return {{"version", 1},
          {"allocations", categories},
          {"heap_ns", {{"before", json_of(all.before_ns)}, {"after", json_of(all.after_ns)}}},
          {"saved_cpu_ns", json_of(saved_cpu(before, after))},
          {"predicted_ns", json_of(predicted_of(all))},
          {"changes", changes},
          {"locks", json_of(analyse::compare(before.locks, after.locks), top)},
          {"syscalls", json_of(analyse::compare(before.calls, after.calls), top)}};
}

// Replaces the names of functions and files by numbers, the same before and after; drops the texts of remedies, which
// contain code.
void redact(json& changes, page_names& names) {
  for (json& each : changes) {
    for (const char* const side : {"before", "after"}) {
      json& of = each[side];
      if (of.is_null()) continue;
      auto [function, file] = names.instead_of_place(of["function"], of["file"]);
      of["function"] = std::move(function);
      of["file"] = std::move(file);
      of.erase("remedy");
    }
  }
}

// Writes an HTML report that has nothing but the difference in it.
void write_difference(json difference, const side& before, const side& after, const diff_request& request) {
  difference["before"] = request.redact ? "program" : program_words_of(before.all.recorded());
  difference["after"] = request.redact ? "program" : program_words_of(after.all.recorded());
  page_names names(request.redact);
  if (request.redact) {
    for (json* const changes :
         {&difference["changes"], &difference["locks"]["changes"], &difference["syscalls"]["changes"]})
      redact(*changes, names);
  }
  names.compact(difference);
  page_file page(request.page);
  page.add(json{{"kind", "difference"}, {"redacted", request.redact}, {"difference", difference}}.dump(
      -1, ' ', false, json::error_handler_t::replace));
  page.end();
}

void diff(const diff_request& request) {
  if (!request.cpu_seconds.empty() && request.cpu_seconds.size() != 2) {
    fail(exit_code::usage, "--cpu takes two numbers: --cpu 12.3,10.9");
  }
  if (request.redact && request.page.empty()) fail(exit_code::usage, "--redact is for a page: --html OUT");
  if (!request.page.empty()) require_page();
  const bool known = !request.cpu_seconds.empty();
  const analyse::costs prices = machine_costs(false);
  const side before(request.before, prices, known ? request.cpu_seconds[0] : 0);
  const side after(request.after, prices, known ? request.cpu_seconds[1] : 0);
  const analyse::difference all = analyse::compare(before.sums, after.sums);
  if (!request.page.empty()) {
    write_difference(json_of(before, after, all, all.changes.size()), before, after, request);
  } else if (request.as_json) {
    const json text = json_of(before, after, all, request.top);
    fmt::print("{}\n", text.dump(1, ' ', false, json::error_handler_t::replace));
  } else {
    print_text(before, after, all, request);
  }
}

}  // namespace

void add_diff(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("diff", "Compare two recordings, site by site: predicted beside achieved.");
  const auto request = std::make_shared<diff_request>();
  command->add_option("BEFORE", request->before, "the recording before the change")->required();
  command->add_option("AFTER", request->after, "the recording after it, of the same work")->required();
  CLI::Option* const as_json = command->add_flag("--json", request->as_json, "as JSON (docs/reference/report-json.md)");
  command->add_option("--html", request->page, "as a page for a browser, in one file, of all changes")
      ->type_name("OUT")
      ->excludes(as_json);
  command->add_flag("--redact", request->redact, "the page without paths, arguments, own names and remedies' words");
  command->add_option("--top", request->top, "changes to show; 10 if not given")->type_name("N");
  command
      ->add_option("--cpu", request->cpu_seconds, "processor times of both without a recorder, if they were measured")
      ->delimiter(',')
      ->type_name("BEFORE,AFTER");
  command->callback([request] { diff(*request); });
}

}  // namespace tarn::command
