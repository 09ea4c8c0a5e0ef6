// `tarn fix`: proposes an edit for each site of a recording that a check of libtarn-tidy.so can improve.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/json_output.hpp"
#include "profiler/base/progress.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/fix/proposals.hpp"
#include "profiler/fix/series.hpp"
#include "profiler/fix/tidy.hpp"
#include "profiler/fix/trial.hpp"
#include "profiler/format/build_id.hpp"
#include "profiler/launch/calibrate.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/values.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;

struct fix_request {
  std::string path = "tarn.rec", build, output, site, plugin;
  std::string clang_tidy = "clang-tidy-16";
  bool as_json = false, is_quick = false, must_apply = false, has_review = false;
  fix::trial_commands commands;

  bool needs_trial() const {
    return must_apply || !commands.build.empty() || !commands.check.empty() || !commands.prove.empty();
  }
};

// A proposal and its result.
struct attempt {
  fix::proposal proposal;
  fix::verdict verdict;
  fix::series::edit edit;
  std::string problem;  // why there is no patch; empty if there is one
  std::optional<fix::gain> measured;

  // Returns what the edit does; of one to review it says so.
  std::string text() const { return (verdict.level == fix::certainty::review ? "to review: " : "") + verdict.text; }
};

void require_recorded_build(const format::recording& recording) {
  for (const format::module_facts& module : recording.modules) {
    if (module.build_id.empty() || !module.path.starts_with('/')) continue;
    if (analyse::is_installed_library(module.path) || analyse::is_runtime_module(module.path)) continue;
    const std::string today = format::build_id_of(module.path);
    if (today != module.build_id)
      fail(exit_code::other_build, "{} has build id {}, and the recording is of {}: record this build", module.path,
           today.empty() ? "none" : today, module.build_id);
  }
}

void require_old_source(const fix::proposal& proposal, std::uint64_t recorded) {
  struct stat source {
  }, program{};
  const analyse::code_location& location = proposal.location;
  if (::stat(location.file.c_str(), &source) != 0) return;
  const bool is_newer_than_program =
      ::stat(location.module.c_str(), &program) == 0 && source.st_mtime > program.st_mtime;
  if (is_newer_than_program || static_cast<std::uint64_t>(source.st_mtime) > recorded)
    fail(exit_code::newer_source, "{} is newer than {}: build and record again", location.file,
         is_newer_than_program ? location.module : "the recording");
}

std::string place_of(const attempt& attempt) {
  const analyse::code_location& location = attempt.proposal.location;
  return fmt::format("{}:{}", analyse::file_name(location.file), location.line);
}

std::string_view covered_by(const fix::proposal& proposal) {
  return proposal.saves_more ? allocator_alone : std::string_view();
}

std::string message_of(const analyse::analysis& analysis, const attempt& attempt) {
  return fmt::format("{}: {}\n\n{}.\n\nPredicted: {}, from a recording of {}.\n",
                     analyse::file_name(attempt.proposal.location.file), attempt.proposal.title, attempt.text(),
                     gain_text(analysis, attempt.proposal.saved_ns, covered_by(attempt.proposal)),
                     analyse::file_name(analysis.recording().program.arguments.front()));
}

// Adds to a verdict what a number from the recording costs. If that may be more than it saves, the edit is not proven.
void judge_recorded_number(fix::verdict& verdict, const fix::proposal& proposal) {
  constexpr std::string_view origin = ", from the recording";  // as tarn-reserve says it
  const std::size_t start = verdict.text.find(origin);
  if (proposal.size_text.empty() || start == std::string::npos) return;
  verdict.text.insert(start + origin.size(), " of the buffers: " + proposal.size_text);
  if (proposal.saved_ns.low >= 0 || verdict.level != fix::certainty::proven) return;
  verdict.level = fix::certainty::review;
  verdict.text += "; that may cost more than it saves";
}

// Returns the question about a line for its check. One without units has the reason in `problem`.
fix::question question_of(const fix::proposal& proposal, fix::tidy& tidy, const fix::series& series,
                          std::string& problem) {
  fix::question question{proposal.check, {}, proposal.location.line, proposal.bytes, {}};
  if (proposal.check.empty()) {
    problem = proposal.silence.empty() ? "no check edits this remedy" : proposal.silence;
    return question;
  }
  if (series.in_clone(proposal.location.file).empty()) {
    problem = proposal.location.file + " is no file of this repository";
    return question;
  }
  question.file = fs::weakly_canonical(proposal.location.file);
  const auto add_units = [&](const auto& has_line) {
    std::copy_if(tidy.units().begin(), tidy.units().end(), std::back_inserter(question.units), has_line);
  };
  add_units([&](const fix::unit& unit) { return unit.file == question.file; });
  // The edit of a header is one for each unit that includes it, also for those that did not run.
  if (question.units.empty()) question.units = tidy.units_including(question.file, question.unasked);
  if (!question.unasked.empty()) {
    std::set<std::string> callers;
    for (const std::string& caller : proposal.files) {
      if (!caller.empty()) callers.insert(fs::weakly_canonical(caller));
    }
    question.units.clear();
    add_units([&](const fix::unit& unit) { return callers.contains(unit.file); });
  }
  if (question.units.empty()) problem = "compile_commands.json has no unit with this line";
  return question;
}

// Returns the remedies of a site in turn. Each has the lines to ask about: its own, then those that call its function,
// which may own the container that it fills.
std::vector<std::vector<fix::proposal>> lines_of(const fix::proposal& site) {
  constexpr std::size_t max_callers = 3;
  std::vector<fix::proposal> remedies = {site};
  remedies.insert(remedies.end(), site.alternatives.begin(), site.alternatives.end());
  std::vector<std::vector<fix::proposal>> result;
  for (fix::proposal& remedy : remedies) {
    remedy.alternatives.clear();
    remedy.files = site.files;
    std::vector<fix::proposal>& lines = result.emplace_back(1, remedy);
    if (!remedy.fills_callers_container) continue;
    for (std::size_t index = 0; index < std::min(max_callers, site.callers.size()); ++index) {
      // A function of the library that calls back fills no container of its caller, but it may copy an object of it.
      if (site.callers[index].is_behind_library && remedy.remedy != "move" && remedy.remedy != "copy") continue;
      fix::proposal& line = lines.emplace_back(remedy);
      line.location = site.callers[index].location;
      line.saved_ns.low *= site.callers[index].share;
      line.saved_ns.high *= site.callers[index].share;
    }
  }
  return result;
}

// Asks about all lines that the attempts may edit, at once.
void ask_at_once(const std::vector<attempt>& attempts, fix::tidy& tidy, const std::string& folder,
                 const fix::series& series) {
  std::set<fix::question> questions;
  for (const attempt& attempt : attempts) {
    for (const std::vector<fix::proposal>& lines : lines_of(attempt.proposal)) {
      for (const fix::proposal& line : lines) {
        std::string problem;
        fix::question question = question_of(line, tidy, series, problem);
        if (problem.empty()) questions.insert(std::move(question));
      }
    }
  }
  progress questions_progress("questions to clang-tidy");
  questions_progress.update(0, questions.size());
  tidy.ask({questions.begin(), questions.end()}, folder,
           [&](std::size_t count) { questions_progress.update(count, questions.size()); });
}

// Asks the check about a line, and prepares its edit.
attempt try_proposal(const fix::proposal& proposal, fix::tidy& tidy, const fix::series& series, bool has_review) {
  attempt result{proposal, {}, {}, {}, {}};
  const fix::question question = question_of(proposal, tidy, series, result.problem);
  if (!result.problem.empty()) return result;
  result.verdict = tidy.answer_about(question);
  judge_recorded_number(result.verdict, proposal);
  if (proposal.remedy == "pooled") tidy.ask_other_units(result.verdict, proposal.check);
  using fix::certainty;
  switch (result.verdict.level) {
    case certainty::silent: result.problem = proposal.silence; return result;
    case certainty::failed:
    case certainty::no_edit: result.problem = result.verdict.text; return result;
    case certainty::review:
      if (has_review) break;
      result.problem = result.text();
      return result;
    case certainty::proven: break;
  }
  result.edit = series.prepare(result.verdict.edits);
  result.problem = result.edit.problem;
  return result;
}

// Tries the remedies of a site in turn. The first one with an edit counts, else the most certain verdict. Each line
// that calls the site's function may have an edit of its own, for its share of the allocations.
std::vector<attempt> try_remedies(const fix::proposal& site, fix::tidy& tidy, const fix::series& series,
                                  bool has_review) {
  using fix::certainty;
  std::vector<attempt> result;
  const std::vector<std::vector<fix::proposal>> remedies = lines_of(site);
  for (std::size_t remedy = 0; remedy < remedies.size(); ++remedy) {
    std::vector<attempt> answers;
    for (std::size_t line = 0; line < remedies[remedy].size(); ++line) {
      attempt next = try_proposal(remedies[remedy][line], tidy, series, has_review);
      const bool is_edit = next.verdict.level == certainty::review || next.verdict.level == certainty::proven;
      const bool is_first = answers.empty() || answers.front().verdict.level < certainty::review ||
                            answers.front().verdict.level == certainty::failed;
      if (is_edit && is_first) answers.clear();
      if (is_edit || line == 0) answers.push_back(std::move(next));
      if (line == 0 && answers.front().verdict.level != certainty::silent) break;
    }
    const auto is_patch = [](const attempt& answer) {
      return answer.problem.empty() && answer.verdict.level == certainty::proven;
    };
    const bool has_patch = std::any_of(answers.begin(), answers.end(), is_patch);
    const fix::verdict& best = answers.front().verdict;
    const bool is_better = remedy != 0 && best.level > result.front().verdict.level && best.level != certainty::failed;
    if (remedy == 0 || has_patch || is_better) result = std::move(answers);
    if (has_patch) break;
  }
  return result;
}

// Counts what sites save that ask for one edit as the gain of the first of them. Puts the largest gain first.
void merge_equal_edits(std::vector<attempt>& attempts) {
  for (std::size_t index = 0; index < attempts.size(); ++index) {
    attempt& next = attempts[index];
    if (!next.problem.empty()) continue;
    const auto first = std::find_if(
        attempts.begin(), attempts.begin() + static_cast<std::ptrdiff_t>(index),
        [&](const attempt& earlier) { return earlier.problem.empty() && earlier.edit.diff == next.edit.diff; });
    if (&*first == &next) continue;
    first->proposal.saved_ns.low += next.proposal.saved_ns.low;
    first->proposal.saved_ns.high += next.proposal.saved_ns.high;
    first->proposal.saves_more |= next.proposal.saves_more;
    next.problem = fmt::format("the same edit as that of {}, whose gain includes that of this site", place_of(*first));
  }
  std::stable_sort(attempts.begin(), attempts.end(), [](const attempt& first, const attempt& second) {
    return fix::saves_more_than(first.proposal, second.proposal);
  });
}

// Returns why an edit would save nothing beside the earlier ones: a variable that gives its memory away at its last use
// has none that a loop or a thread could keep, and needs no reference in its place.
std::string repeated_saving(const std::vector<attempt>& attempts, std::size_t index) {
  const auto name_in = [](const attempt& next) { return next.verdict.text.substr(0, next.verdict.text.find('\'', 1)); };
  const fix::proposal& proposal = attempts[index].proposal;
  for (std::size_t earlier = 0; earlier < index; ++earlier) {
    const attempt& patch = attempts[earlier];
    const analyse::code_location& location = patch.proposal.location;
    if (!patch.problem.empty() || (proposal.remedy == "move") == (patch.proposal.remedy == "move") ||
        location.function != proposal.location.function || location.file != proposal.location.file ||
        name_in(patch) != name_in(attempts[index])) {
      continue;
    }
    return fmt::format("{}' is the variable of the patch for {}, which saves the same memory", name_in(patch),
                       place_of(patch));
  }
  return {};
}

// Keeps the edit that was added last only if it builds, passes and gains.
void try_commit(attempt& attempt, const analyse::analysis& analysis, fix::trial& trial, fix::series& series) {
  fix::trial::outcome outcome = trial.judge(analysis.share(attempt.proposal.saved_ns).middle());
  attempt.problem = std::move(outcome.problem);
  attempt.measured = std::move(outcome.measured);
  if (!attempt.problem.empty()) return series.drop();
  if (attempt.measured)
    series.amend(fmt::format("{}Measured: {}.\n", message_of(analysis, attempt), attempt.measured->text));
}

// The lines below a site that `--explain` asks about: why it gets no patch, and the conditions that failed. The first
// condition is mostly the reason itself: then its line of source goes into the reason, and it is not said twice.
struct explanation {
  explanation(const attempt& attempt, bool has_notes) : problem(attempt.problem) {
    if (!has_notes) return;
    notes = attempt.verdict.notes;
    const std::string& reason = attempt.verdict.text;
    const auto matching_note = std::find_if(notes.begin(), notes.end(),
                                            [&](const std::string& note) { return note.ends_with(": " + reason); });
    if (matching_note == notes.end() || reason.empty() || !problem.ends_with(reason)) return;
    problem.replace(problem.size() - reason.size(), reason.size(), *matching_note);
    notes.erase(matching_note);
  }
  std::string problem;
  std::vector<std::string> notes;
};

void print_attempts(const analyse::analysis& analysis, const std::vector<attempt>& attempts, bool has_notes) {
  const paint paint;
  std::size_t number = 0, patches = 0;
  for (const attempt& attempt : attempts) {
    const fix::proposal& proposal = attempt.proposal;
    const explanation explained(attempt, has_notes);
    fmt::print("{}. {} {}  {}\n", ++number, paint.strong(place_of(attempt)), proposal.remedy,
               gain_text(analysis, proposal.saved_ns, covered_by(proposal)));
    if (attempt.problem.empty()) {
      fmt::print("   {} {}\n", paint.good(fmt::format("patch {}:", ++patches)), wrap_text(attempt.text(), 12));
    } else {
      fmt::print("   {} {}\n", paint.faint("no patch:"), wrap_text(explained.problem, 13));
    }
    if (attempt.problem.empty() && attempt.measured)
      fmt::print("   {} {}\n", paint.good("measured:"), wrap_text(attempt.measured->text, 13));
    for (const std::string& note : explained.notes) fmt::print("   {}\n", note);
  }
  for (const attempt& attempt : attempts) {
    if (attempt.problem.empty()) fmt::print("\n{}", attempt.edit.diff);
  }
}

void print_attempts_as_json(const analyse::analysis& analysis, const std::vector<attempt>& attempts) {
  nlohmann::json sites = nlohmann::json::array();
  for (const attempt& attempt : attempts) {
    const fix::proposal& proposal = attempt.proposal;
    const analyse::range share = analysis.share(proposal.saved_ns);
    sites.push_back({{"file", proposal.location.file},
                     {"line", proposal.location.line},
                     {"function", proposal.location.function},
                     {"remedy", proposal.remedy},
                     {"check", proposal.check},
                     {"saved_ns", {proposal.saved_ns.low, proposal.saved_ns.high}},
                     {"saved_share", {share.low, share.high}},
                     {"at_least", proposal.saves_more},
                     {"edit", fix::name(attempt.verdict.level)},
                     {"text", attempt.verdict.text},
                     {"notes", attempt.verdict.notes},
                     {"problem", attempt.problem},
                     {"gain", attempt.measured ? nlohmann::json(fix::name(attempt.measured->outcome)) : nullptr},
                     {"measured_share", attempt.measured ? nlohmann::json(attempt.measured->saved_share) : nullptr},
                     {"patch", attempt.problem.empty() ? attempt.edit.diff : ""}});
  }
  fmt::print("{}\n", json_text({{"version", 1}, {"sites", sites}}, 0));
}

void require_empty(const std::string& folder) {
  std::error_code error;
  if (!folder.empty() && fs::exists(folder, error) && !fs::is_empty(folder, error))
    fail(exit_code::usage, "{} is not an empty folder: the series needs one of its own", folder);
}

void run_fix(const fix_request& request) {
  require_empty(request.output);
  fix::tidy tidy(request.clang_tidy, find_library("libtarn-tidy.so", request.plugin, false), request.build);
  const std::string root = fix::clean_repository();
  analyse::analysis analysis(read_recording(request.path), machine_costs(false));
  require_recorded_build(analysis.recording());
  const auto replay = [&](analyse::analysis& analysed, const std::vector<analyse::site>& sites) {
    if (!request.is_quick) replay_dearest(analysed, sites);
  };
  const auto is_asked = [&](const fix::proposal& line) {
    return request.site.empty() ||
           fmt::format("/{}:{}", line.location.file, line.location.line).ends_with("/" + request.site);
  };
  std::vector<attempt> attempts;
  for (fix::proposal& proposal : fix::proposals_of(analysis, replay)) {
    const std::vector<std::vector<fix::proposal>> remedies = lines_of(proposal);
    const bool has_asked_line = std::any_of(remedies.begin(), remedies.end(), [&](const auto& lines) {
      return std::any_of(lines.begin(), lines.end(), is_asked);
    });
    if (has_asked_line) attempts.push_back({std::move(proposal), {}, {}, {}, {}});
  }
  if (attempts.empty() && !request.site.empty())
    fail(exit_code::usage, "{}: no such site is worth a change; without --explain all are listed, as FILE:LINE",
         request.site);
  if (attempts.empty()) {
    if (request.as_json) return print_attempts_as_json(analysis, attempts);
    fmt::print("Nothing to fix: no remedy of a line in this program saves 0.1 % of CPU.\n");
    return;
  }
  for (const attempt& next : attempts) {
    if (!next.proposal.check.empty()) require_old_source(next.proposal, analysis.recording().program.started);
  }
  const fix::scratch_folder scratch;
  fix::series series(root, scratch.path() + "/tree");
  ask_at_once(attempts, tidy, scratch.path() + "/questions", series);
  {
    progress edit_progress("edits");
    std::vector<attempt> answers;
    for (std::size_t index = 0; index < attempts.size(); ++index) {
      edit_progress.update(index, attempts.size());
      std::vector<attempt> own_answers = try_remedies(attempts[index].proposal, tidy, series, request.has_review);
      std::move(own_answers.begin(), own_answers.end(), std::back_inserter(answers));
    }
    attempts = std::move(answers);
  }
  // A site may have answers about lines that were not asked about.
  if (std::any_of(attempts.begin(), attempts.end(), [&](const attempt& next) { return is_asked(next.proposal); }))
    std::erase_if(attempts, [&](const attempt& next) { return !is_asked(next.proposal); });
  if (request.site.empty()) {
    std::erase_if(attempts, [](const attempt& next) {
      return next.proposal.is_guess && next.verdict.level == fix::certainty::silent;
    });
  }
  merge_equal_edits(attempts);
  std::optional<fix::trial> trial;
  if (request.needs_trial() &&
      std::any_of(attempts.begin(), attempts.end(), [](const attempt& next) { return next.problem.empty(); })) {
    trial.emplace(series, request.build, scratch.path(), request.commands);
  }
  std::size_t patch_count = 0;
  progress patch_progress("patches");
  for (std::size_t index = 0; index < attempts.size(); ++index) {
    patch_progress.update(index, attempts.size());
    attempt& next = attempts[index];
    if (next.problem.empty()) next.problem = repeated_saving(attempts, index);
    if (next.problem.empty()) next.problem = series.add(next.edit, message_of(analysis, next));
    if (trial && next.problem.empty()) try_commit(next, analysis, *trial, series);
    patch_count += next.problem.empty() ? 1 : 0;
  }
  if (request.must_apply) series.apply();
  if (!request.output.empty()) series.write_patches(request.output);
  request.as_json ? print_attempts_as_json(analysis, attempts)
                  : print_attempts(analysis, attempts, !request.site.empty());
  const auto unclear = std::find_if(attempts.begin(), attempts.end(), [](const attempt& next) {
    return next.measured && next.measured->outcome == fix::effect::unclear;
  });
  if (patch_count != 0 || unclear == attempts.end()) return;
  std::fflush(stdout);
  fail(exit_code::too_noisy, "{}: {}", place_of(*unclear), unclear->problem);
}

}  // namespace

void add_fix(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("fix", "Propose patches for the sites of a recording, by predicted gain.");
  const auto request = std::make_shared<fix_request>();
  command->add_option("FILE", request->path, "recording of the program; default tarn.rec");
  command->add_option("-p", request->build, "build folder, with compile_commands.json")->type_name("BUILD")->required();
  command->add_option("-o", request->output, "write the patches into this folder, for git am")->type_name("FOLDER");
  CLI::Option* const applies =
      command->add_flag("--apply", request->must_apply, "commit the patches that build and pass to the current branch");
  command
      ->add_option("--build", request->commands.build,
                   "command that builds a tree; default: CMake, with the cache of BUILD")
      ->type_name("CMD");
  command->add_option("--check", request->commands.check, "command that must pass with each patch, such as the tests")
      ->type_name("CMD");
  CLI::Option* const proves = command
                                  ->add_option("--prove", request->commands.prove,
                                               "command that runs the load: keep only patches that save CPU time in it")
                                  ->type_name("CMD");
  command
      ->add_option("--runs", request->commands.runs,
                   "pairs of runs of the load for each patch; default and least 5; more show a smaller gain")
      ->type_name("N")
      ->check(CLI::Range(5, 1000))
      ->needs(proves);
  command->add_flag("--json", request->as_json, "print JSON (share/doc/tarn/guide/fix.md)");
  command->add_option("--explain", request->site, "say of one site which condition of an edit fails, and in which line")
      ->type_name("FILE:LINE")
      ->excludes(applies)
      ->excludes(proves);
  command->add_flag("--review", request->has_review, "make the edits that are to review, too");
  command->add_flag("--quick", request->is_quick, "predict with the cost model only, without replaying trace excerpts");
  command->add_option("--clang-tidy", request->clang_tidy, "program to run; default clang-tidy-16")->type_name("PATH");
  command->add_option("--lib", request->plugin, "libtarn-tidy.so to load into it")->type_name("PATH");
  command->callback([request] { run_fix(*request); });
}

}  // namespace tarn::command
