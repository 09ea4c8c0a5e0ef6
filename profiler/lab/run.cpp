#include "profiler/lab/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "profiler/base/temporary_folder.hpp"
#include "profiler/lab/count.hpp"
#include "profiler/lab/machine.hpp"
#include "profiler/lab/process.hpp"

namespace tarn::lab {
namespace {

using nlohmann::json;
using steady = std::chrono::steady_clock;

constexpr std::chrono::seconds longest_program{120};

// Ends the experiment, and keeps its measurements so far.
struct broken {
  std::string why;
};

// Says that the experiment cannot run here, because something that is not ours is missing.
struct absent {
  std::string why;
};

class experiment_run {
 public:
  experiment_run(const experiment& definition, const request& options, const run_folders& folders,
                 const std::function<void(const std::string&)>& say)
      : definition_(definition), options_(options), folders_(folders), say_(say) {
    result_.definition = &definition;
    result_.rounds = options.rounds.value_or(options.is_quick ? definition.quick_rounds : 5);
  }

  result execute() {
    const auto start = steady::now();
    try {
      choose_numbers();
      find_forms();
      if (definition_.makes_file) make_file();
      measure();
      if (definition_.counted_by != counter::no_counter) count();
      if (definition_.judge != nullptr) result_.judgement = definition_.judge(result_);
    } catch (const broken& end) {
      result_.failure = end.why;
    } catch (const command::failure& error) {
      result_.failure = error.what();
    } catch (const absent& error) {
      skip("it is skipped: {}", error.why);
      result_.judgement.text = "It was not run.";
    }
    result_.seconds = std::chrono::duration<double>(steady::now() - start).count();
    return std::move(result_);
  }

 private:
  std::vector<std::uint64_t> values_of(const parameter& parameter) const {
    const auto setting = options_.set.find(parameter.name);
    return setting != options_.set.end() ? setting->second : options_.is_quick ? parameter.quick : parameter.usual;
  }

  void choose_numbers() {
    for (const parameter& parameter : definition_.parameters)
      result_.parameters[parameter.name] = values_of(parameter).front();
    for (const sweep& sweep : definition_.sweeps) {
      std::vector<std::uint64_t> values = values_of(sweep.axis);
      const unsigned processors = cores();
      if (sweep.is_of_cores) {
        for (const std::uint64_t value : values) {
          if (value > processors) skip("{} {} is skipped: this process may use {}", sweep.axis.name, value, processors);
        }
        std::erase_if(values, [&](std::uint64_t value) { return value > processors; });
      }
      result_.axes.push_back(values);
    }
  }

  const std::string& program_of(const sweep& sweep) const {
    return sweep.program.empty() ? definition_.program : sweep.program;
  }

  std::string path_of(const std::string& program) const { return folders_.programs + "/lab-" + program; }

  // Finds the forms that the sweeps' programs have.
  void ask_programs() {
    for (const sweep& sweep : definition_.sweeps) {
      const std::string& program = program_of(sweep);
      if (built_.contains(program)) continue;
      const process_result process = run_program({path_of(program), "--forms"}, {}, longest_program);
      if (process.code == 127) throw broken{fmt::format("{} cannot be run", path_of(program))};
      if (process.code == 3) throw absent{last_line(process.errors)};
      if (process.code != 0) throw broken{fmt::format("lab-{} --forms: exit {}", program, process.code)};
      std::set<std::string>& forms = built_[program];
      for (std::size_t begin = 0, end = 0; (end = process.output.find('\n', begin)) != std::string::npos;
           begin = end + 1) {
        forms.insert(process.output.substr(begin, end - begin));
      }
    }
  }

  bool is_built(const form& form) const {
    return std::any_of(built_.begin(), built_.end(),
                       [&](const auto& forms_of_program) { return forms_of_program.second.contains(form.word); });
  }

  void find_forms() {
    ask_programs();
    for (const form& form : definition_.forms) {
      lab::form present = form;
      const bool is_ours = form.library == drop_in;
      if (is_ours) {
        present.library = folders_.libraries + '/' + drop_in;
      } else if (!form.library.empty()) {
        present.library = find_shared_library(form.library);
      }
      std::error_code error;
      if (!is_built(form)) {
        skip("{} is skipped: this build has it not{}", form.name, package_text(form));
      } else if (!form.library.empty() && !std::filesystem::exists(present.library, error)) {
        skip("{} is skipped: no {}{}", form.name, is_ours ? present.library : form.library, package_text(form));
      } else {
        result_.forms.push_back(present);
      }
    }
    if (result_.forms.empty()) throw broken{"no form of it is there"};
  }

  static std::string package_text(const form& form) {
    return form.package.empty() ? std::string() : fmt::format(" (Debian package {})", form.package);
  }

  template <class... Arguments>
  void skip(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
    result_.skipped.push_back(fmt::format(pattern, std::forward<Arguments>(arguments)...));
    say_(fmt::format("{}: {}", definition_.name, result_.skipped.back()));
  }

  bool is_in(const sweep& sweep, const form& form) const {
    return (sweep.only.empty() || std::find(sweep.only.begin(), sweep.only.end(), form.name) != sweep.only.end()) &&
           built_.at(program_of(sweep)).contains(form.word);
  }

  job job_of(const sweep& sweep, const form& form, std::uint64_t x) const {
    numbers arguments;
    for (const auto& [key, number] : result_.parameters) {
      const auto& parameter_names = sweep.parameters;
      if (!parameter_names ||
          std::find(parameter_names->begin(), parameter_names->end(), key) != parameter_names->end())
        arguments[key] = number;
    }
    for (const auto& [key, number] : sweep.fixed) arguments[key] = number;
    arguments[sweep.axis.name] = x;
    if (sweep.adjust != nullptr) sweep.adjust(arguments, x);
    job job{{path_of(program_of(sweep)), form.word}, form.environment};
    for (const auto& [key, number] : arguments) job.arguments.push_back(fmt::format("{}={}", key, number));
    if (folder_) job.arguments.push_back("file=" + folder_->path() + "/file");
    job.arguments.insert(job.arguments.end(), form.settings.begin(), form.settings.end());
    job.preload = form.library;
    return job;
  }

  row& row_of(std::size_t sweep, const std::string& form, std::uint64_t x) {
    for (row& row : result_.rows) {
      if (row.sweep == sweep && row.form == form && row.x == x) return row;
    }
    return result_.rows.emplace_back(row{sweep, x, form, {}, {}, {}});
  }

  void measure() {
    for (std::uint64_t round = 0; round < result_.rounds; ++round) {
      for (std::size_t sweep_index = 0; sweep_index < definition_.sweeps.size(); ++sweep_index) {
        if (definition_.sweeps[sweep_index].is_exact && round > 0) continue;
        for (const std::uint64_t x : result_.axes[sweep_index]) {
          say_(fmt::format("{}: round {} of {}, {} {}", definition_.name, round + 1, result_.rounds,
                           definition_.sweeps[sweep_index].axis.name, x));
          for (std::size_t turn = 0; turn < result_.forms.size(); ++turn) {  // each round begins with another form
            const form& form = result_.forms[(turn + round) % result_.forms.size()];
            if (is_in(definition_.sweeps[sweep_index], form) && !left_out_.contains({form.name, sweep_index, x}))
              measure_one(sweep_index, form, x);
          }
        }
      }
    }
  }

  void measure_one(std::size_t sweep_index, const form& form, std::uint64_t x) {
    const job job = job_of(definition_.sweeps[sweep_index], form, x);
    std::vector<std::string> environment = job.environment;
    if (!job.preload.empty()) environment.push_back("LD_PRELOAD=" + job.preload);
    const process_result process = run_program(job.arguments, environment, longest_program);
    const std::string name = fmt::format("{} at {} {}", form.name, definition_.sweeps[sweep_index].axis.name, x);
    if (process.is_late) throw broken{fmt::format("{}: no end after {} s", name, longest_program.count())};
    if (process.code == 3) {
      left_out_.emplace(form.name, sweep_index, x);
      return skip("{} is left out: {}", name, last_line(process.errors));
    }
    if (process.code > 128)
      throw broken{fmt::format("{}: ended by signal {} {}", name, process.code - 128, last_line(process.errors))};
    if (process.code != 0) throw broken{fmt::format("{}: exit {}: {}", name, process.code, last_line(process.errors))};
    note(sweep_index, form, x, name, process.output);
  }

  void note(std::size_t sweep_index, const form& form, std::uint64_t x, const std::string& name,
            const std::string& output) {
    const json line = json::parse(output, nullptr, false);
    if (!line.is_object() || line.value("units", 0.0) <= 0 || !line.contains("ns"))
      throw broken{fmt::format("{}: what it printed is no result", name)};
    // The loader only warns about a preload that fails, and the C library would be measured instead.
    std::error_code error;
    if (!form.library.empty() && !std::filesystem::equivalent(form.library, line.value("malloc", ""), error)) {
      left_out_.emplace(form.name, sweep_index, x);
      return skip("{} is left out: malloc comes from {}, not from {}", name, line.value("malloc", ""), form.library);
    }
    const std::string checksum = line.value("checksum", "");
    const auto [earlier, is_first] = checksums_.emplace(std::pair(sweep_index, x), std::pair(checksum, name));
    if (!is_first && earlier->second.first != checksum) {
      throw broken{fmt::format("{} did other work than {}: checksum {} instead of {}", name, earlier->second.second,
                               checksum, earlier->second.first)};
    }
    row& row = row_of(sweep_index, form.name, x);
    const double units = line.value("units", 1.0);
    row.ns.push_back(line.value("ns", 0.0) / units);
    row.processor_ns.push_back(line.value("processor_ns", 0.0) / units);
    const json counts = line.value("counts", json::object());
    for (const auto& [count, number] : counts.items()) {
      if (number.is_number()) row.counts[count].push_back(number.get<double>());
    }
  }

  // Runs each form at each x once more, under a tool that counts.
  void count() {
    for (std::size_t sweep_index = 0; sweep_index < definition_.sweeps.size(); ++sweep_index) {
      if (!definition_.sweeps[sweep_index].is_counted || result_.axes[sweep_index].empty()) continue;
      const std::uint64_t x = result_.axes[sweep_index].front();
      for (const form& form : result_.forms) {
        if (!is_in(definition_.sweeps[sweep_index], form)) continue;
        say_(fmt::format("{}: counting {}, {} {}", definition_.name, form.name,
                         definition_.sweeps[sweep_index].axis.name, x));
        const count_result process =
            run_counted(definition_.counted_by, job_of(definition_.sweeps[sweep_index], form, x), longest_program);
        if (!process.why_not.empty()) return skip("{}", process.why_not);
        for (const auto& [name, number] : process.counts) row_of(sweep_index, form.name, x).counts[name] = {number};
      }
    }
  }

  void make_file() {
    folder_.emplace("tarn-lab");
    std::vector<std::string> arguments = {path_of(definition_.program), "make", "file=" + folder_->path() + "/file"};
    for (const auto& [key, number] : result_.parameters) arguments.push_back(fmt::format("{}={}", key, number));
    const process_result process = run_program(arguments, {}, longest_program);
    if (process.code != 0) throw broken{fmt::format("its file cannot be made: {}", last_line(process.errors))};
  }

  const experiment& definition_;
  const request& options_;
  const run_folders& folders_;
  const std::function<void(const std::string&)>& say_;
  result result_;
  std::optional<command::temporary_folder> folder_;
  std::map<std::string, std::set<std::string>> built_;                      // forms, by program
  std::set<std::tuple<std::string, std::size_t, std::uint64_t>> left_out_;  // form, sweep, x
  std::map<std::pair<std::size_t, std::uint64_t>, std::pair<std::string, std::string>> checksums_;
};

}  // namespace

result run(const experiment& definition, const request& options, const run_folders& folders,
           const std::function<void(const std::string&)>& say) {
  return experiment_run(definition, options, folders, say).execute();
}

std::string find_shared_library(const std::string& file_name) {
  static const std::string cache = [] {
    for (const char* const tool : {"ldconfig", "/sbin/ldconfig"}) {
      const process_result process = run_program({tool, "-p"}, {}, longest_program);
      if (process.code == 0) return process.output;
    }
    return std::string();
  }();
  const std::size_t line = cache.find('\t' + file_name + ' ');
  const std::size_t arrow = line == std::string::npos ? line : cache.find(" => ", line);
  if (arrow == std::string::npos) return {};
  return cache.substr(arrow + 4, cache.find('\n', arrow) - arrow - 4);
}

}  // namespace tarn::lab
