#include "lab/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "lab/count.hpp"
#include "lab/machine.hpp"
#include "lab/process.hpp"

namespace tarn::lab {
namespace {

using nlohmann::json;
using steady = std::chrono::steady_clock;

constexpr std::chrono::seconds longest_program{120};

// Ends the experiment, and keeps what was measured.
struct broken {
  std::string why;
};

// Says that the experiment cannot run here, because something that is not ours is missing.
struct absent {
  std::string why;
};

// A folder among the temporary ones, removed with this object.
class own_folder {
 public:
  own_folder() {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / "tarn-lab-XXXXXX").string();
    if (error || ::mkdtemp(path_.data()) == nullptr) throw broken{fmt::format("no temporary folder {}", path_)};
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  ~own_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class run_of {
 public:
  run_of(const experiment& of, const request& wanted, const places& at,
         const std::function<void(const std::string&)>& say)
      : of_(of), wanted_(wanted), at_(at), say_(say) {
    done_.of = &of;
    done_.rounds = wanted.rounds.value_or(wanted.is_quick ? of.quick_rounds : 5);
  }

  result all() {
    const auto start = steady::now();
    try {
      choose_numbers();
      find_forms();
      if (of_.makes_file) make_file();
      measure();
      if (of_.counted_by != counter::none) count();
      if (of_.judge != nullptr) done_.told = of_.judge(done_);
    } catch (const broken& end) {
      done_.failure = end.why;
    } catch (const absent& what) {
      skip("it is skipped: {}", what.why);
      done_.told.words = "It was not run.";
    }
    done_.seconds = std::chrono::duration<double>(steady::now() - start).count();
    return std::move(done_);
  }

 private:
  std::vector<std::uint64_t> values_of(const parameter& each) const {
    const auto found = wanted_.set.find(each.name);
    return found != wanted_.set.end() ? found->second : wanted_.is_quick ? each.quick : each.usual;
  }

  void choose_numbers() {
    for (const parameter& each : of_.parameters) done_.parameters[each.name] = values_of(each).front();
    for (const sweep& each : of_.sweeps) {
      std::vector<std::uint64_t> values = values_of(each.axis);
      const unsigned there = cores();
      if (each.is_of_cores) {
        for (const std::uint64_t value : values) {
          if (value > there) skip("{} {} is skipped: this process may use {}", each.axis.name, value, there);
        }
        std::erase_if(values, [&](std::uint64_t value) { return value > there; });
      }
      done_.axes.push_back(values);
    }
  }

  const std::string& program_of(const sweep& in) const { return in.program.empty() ? of_.program : in.program; }

  std::string path_of(const std::string& program) const { return at_.programs + "/lab-" + program; }

  // Finds the forms that the sweeps' programs have.
  void ask_programs() {
    for (const sweep& in : of_.sweeps) {
      const std::string& program = program_of(in);
      if (built_.contains(program)) continue;
      const ended told = run_program({path_of(program), "--forms"}, {}, longest_program);
      if (told.code == 127) throw broken{fmt::format("{} cannot be run", path_of(program))};
      if (told.code == 3) throw absent{last_line(told.errors)};
      if (told.code != 0) throw broken{fmt::format("lab-{} --forms: exit {}", program, told.code)};
      std::set<std::string>& words = built_[program];
      for (std::size_t begin = 0, end = 0; (end = told.output.find('\n', begin)) != std::string::npos;
           begin = end + 1) {
        words.insert(told.output.substr(begin, end - begin));
      }
    }
  }

  bool is_built(const form& of) const {
    return std::any_of(built_.begin(), built_.end(), [&](const auto& each) { return each.second.contains(of.word); });
  }

  void find_forms() {
    ask_programs();
    for (const form& each : of_.forms) {
      form found = each;
      const bool is_ours = each.library == drop_in;
      if (is_ours) {
        found.library = at_.libraries + '/' + drop_in;
      } else if (!each.library.empty()) {
        found.library = find_shared_library(each.library);
      }
      std::error_code error;
      if (!is_built(each)) {
        skip("{} is skipped: this build has it not{}", each.name, package_words(each));
      } else if (!each.library.empty() && !std::filesystem::exists(found.library, error)) {
        skip("{} is skipped: no {}{}", each.name, is_ours ? found.library : each.library, package_words(each));
      } else {
        done_.forms.push_back(found);
      }
    }
    if (done_.forms.empty()) throw broken{"no form of it is there"};
  }

  static std::string package_words(const form& of) {
    return of.package.empty() ? std::string() : fmt::format(" (Debian package {})", of.package);
  }

  template <class... Arguments>
  void skip(fmt::format_string<Arguments...> words, Arguments&&... arguments) {
    done_.skipped.push_back(fmt::format(words, std::forward<Arguments>(arguments)...));
    say_(fmt::format("{}: {}", of_.name, done_.skipped.back()));
  }

  bool is_in(const sweep& in, const form& each) const {
    return (in.only.empty() || std::find(in.only.begin(), in.only.end(), each.name) != in.only.end()) &&
           built_.at(program_of(in)).contains(each.word);
  }

  job job_of(const sweep& in, const form& by, std::uint64_t x) const {
    numbers given;
    for (const auto& [key, number] : done_.parameters) {
      const auto& told = in.parameters;
      if (!told || std::find(told->begin(), told->end(), key) != told->end()) given[key] = number;
    }
    for (const auto& [key, number] : in.fixed) given[key] = number;
    given[in.axis.name] = x;
    if (in.adjust != nullptr) in.adjust(given, x);
    job made{{path_of(program_of(in)), by.word}, by.environment};
    for (const auto& [key, number] : given) made.words.push_back(fmt::format("{}={}", key, number));
    if (folder_) made.words.push_back("file=" + folder_->path() + "/file");
    made.words.insert(made.words.end(), by.settings.begin(), by.settings.end());
    made.preload = by.library;
    return made;
  }

  row& row_of(std::size_t sweep, const std::string& form, std::uint64_t x) {
    for (row& each : done_.rows) {
      if (each.sweep == sweep && each.form == form && each.x == x) return each;
    }
    return done_.rows.emplace_back(row{sweep, x, form, {}, {}, {}});
  }

  void measure() {
    for (std::uint64_t round = 0; round < done_.rounds; ++round) {
      for (std::size_t at = 0; at < of_.sweeps.size(); ++at) {
        if (of_.sweeps[at].is_exact && round > 0) continue;
        for (const std::uint64_t x : done_.axes[at]) {
          say_(
              fmt::format("{}: round {} of {}, {} {}", of_.name, round + 1, done_.rounds, of_.sweeps[at].axis.name, x));
          for (std::size_t turn = 0; turn < done_.forms.size(); ++turn) {  // each round begins with another form
            const form& by = done_.forms[(turn + round) % done_.forms.size()];
            if (is_in(of_.sweeps[at], by) && !left_out_.contains({by.name, at, x})) measure_one(at, by, x);
          }
        }
      }
    }
  }

  void measure_one(std::size_t at, const form& by, std::uint64_t x) {
    const job made = job_of(of_.sweeps[at], by, x);
    std::vector<std::string> environment = made.environment;
    if (!made.preload.empty()) environment.push_back("LD_PRELOAD=" + made.preload);
    const ended told = run_program(made.words, environment, longest_program);
    const std::string name = fmt::format("{} at {} {}", by.name, of_.sweeps[at].axis.name, x);
    if (told.is_late) throw broken{fmt::format("{}: no end after {} s", name, longest_program.count())};
    if (told.code == 3) {
      left_out_.emplace(by.name, at, x);
      return skip("{} is left out: {}", name, last_line(told.errors));
    }
    if (told.code > 128)
      throw broken{fmt::format("{}: ended by signal {} {}", name, told.code - 128, last_line(told.errors))};
    if (told.code != 0) throw broken{fmt::format("{}: exit {}: {}", name, told.code, last_line(told.errors))};
    note(at, by, x, name, told.output);
  }

  void note(std::size_t at, const form& by, std::uint64_t x, const std::string& name, const std::string& output) {
    const json line = json::parse(output, nullptr, false);
    if (!line.is_object() || line.value("units", 0.0) <= 0 || !line.contains("ns"))
      throw broken{fmt::format("{}: what it printed is no result", name)};
    // The loader only warns about a preload that fails, and the C library would be measured instead.
    std::error_code error;
    if (!by.library.empty() && !std::filesystem::equivalent(by.library, line.value("malloc", ""), error)) {
      left_out_.emplace(by.name, at, x);
      return skip("{} is left out: malloc comes from {}, not from {}", name, line.value("malloc", ""), by.library);
    }
    const std::string checksum = line.value("checksum", "");
    const auto [known, is_first] = checksums_.emplace(std::pair(at, x), std::pair(checksum, name));
    if (!is_first && known->second.first != checksum) {
      throw broken{fmt::format("{} did other work than {}: checksum {} instead of {}", name, known->second.second,
                               checksum, known->second.first)};
    }
    row& into = row_of(at, by.name, x);
    const double units = line.value("units", 1.0);
    into.ns.push_back(line.value("ns", 0.0) / units);
    into.processor_ns.push_back(line.value("processor_ns", 0.0) / units);
    const json counts = line.value("counts", json::object());
    for (const auto& [count, number] : counts.items()) {
      if (number.is_number()) into.counts[count].push_back(number.get<double>());
    }
  }

  // Runs each form at each x once more, under a tool that counts.
  void count() {
    for (std::size_t at = 0; at < of_.sweeps.size(); ++at) {
      if (!of_.sweeps[at].is_counted || done_.axes[at].empty()) continue;
      const std::uint64_t x = done_.axes[at].front();
      for (const form& by : done_.forms) {
        if (!is_in(of_.sweeps[at], by)) continue;
        say_(fmt::format("{}: counting {}, {} {}", of_.name, by.name, of_.sweeps[at].axis.name, x));
        const counted told = run_counted(of_.counted_by, job_of(of_.sweeps[at], by, x), longest_program);
        if (!told.why_not.empty()) return skip("{}", told.why_not);
        for (const auto& [name, number] : told.counts) row_of(at, by.name, x).counts[name] = {number};
      }
    }
  }

  void make_file() {
    folder_.emplace();
    std::vector<std::string> words = {path_of(of_.program), "make", "file=" + folder_->path() + "/file"};
    for (const auto& [key, number] : done_.parameters) words.push_back(fmt::format("{}={}", key, number));
    const ended told = run_program(words, {}, longest_program);
    if (told.code != 0) throw broken{fmt::format("its file cannot be made: {}", last_line(told.errors))};
  }

  const experiment& of_;
  const request& wanted_;
  const places& at_;
  const std::function<void(const std::string&)>& say_;
  result done_;
  std::optional<own_folder> folder_;
  std::map<std::string, std::set<std::string>> built_;                      // forms, by program
  std::set<std::tuple<std::string, std::size_t, std::uint64_t>> left_out_;  // form, sweep, x
  std::map<std::pair<std::size_t, std::uint64_t>, std::pair<std::string, std::string>> checksums_;
};

}  // namespace

result run(const experiment& of, const request& wanted, const places& at,
           const std::function<void(const std::string&)>& say) {
  return run_of(of, wanted, at, say).all();
}

std::string find_shared_library(const std::string& file_name) {
  static const std::string known = [] {
    for (const char* const tool : {"ldconfig", "/sbin/ldconfig"}) {
      const ended told = run_program({tool, "-p"}, {}, longest_program);
      if (told.code == 0) return told.output;
    }
    return std::string();
  }();
  const std::size_t line = known.find('\t' + file_name + ' ');
  const std::size_t arrow = line == std::string::npos ? line : known.find(" => ", line);
  if (arrow == std::string::npos) return {};
  return known.substr(arrow + 4, known.find('\n', arrow) - arrow - 4);
}

}  // namespace tarn::lab
