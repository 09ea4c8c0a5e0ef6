#include "lab/record.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lab/json.hpp"
#include "lab/machine.hpp"
#include "lab/run.hpp"

namespace tarn::lab {
namespace {

namespace fs = std::filesystem;

// Five digits are all that a clock provides.
std::string digits(double number) { return fmt::format("{:.5g}", number); }

std::string x_words(std::uint64_t x) { return std::to_string(x); }

table figures_of(const std::vector<result>& all) {
  table made = {{"experiment", "sweep", "x", "form", "role", "measure", "median", "low", "high"}};
  for (const result& of : all) {
    for (const row& each : of.rows) {
      std::string role;
      for (const form& by : of.forms) {
        if (by.name == each.form) role = name_of(by.is);
      }
      const auto add = [&](const std::string& measure, const std::vector<double>& values) {
        const spread told = spread_of(values);
        made.push_back({of.of->name, of.of->sweeps[each.sweep].name, x_words(each.x), each.form, role, measure,
                        digits(told.median), digits(told.low), digits(told.high)});
      };
      if (!each.ns.empty()) add("ns", each.ns);
      for (const auto& [name, values] : each.counts) add(name, values);
    }
  }
  return made;
}

void write_file(const fs::path& path, const table& of) {
  std::ofstream file(path, std::ios::binary);
  file << as_csv(of);
  file.close();
  if (!file) throw problem(fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

table read_table(const fs::path& path, std::size_t columns) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw problem(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  table all = read_csv({std::istreambuf_iterator<char>(file), {}});
  if (!all.empty()) all.erase(all.begin());
  for (const std::vector<std::string>& each : all) {
    if (each.size() != columns) throw problem(fmt::format("{}: not what tarn lab --record writes", path.string()));
  }
  return all;
}

}  // namespace

std::string as_csv(const table& of) {
  std::string text;
  for (const std::vector<std::string>& line : of) {
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (at != 0) text += ',';
      if (line[at].find_first_of(",\"\n") == std::string::npos) {
        text += line[at];
        continue;
      }
      text += '"';
      for (const char each : line[at]) text += each == '"' ? std::string("\"\"") : std::string(1, each);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

table read_csv(const std::string& text) {
  table all;
  std::vector<std::string> line;
  std::string word;
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char each = text[at];
    if (is_quoted) {
      if (each != '"') {
        word += each;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        word += text[++at];
      } else {
        is_quoted = false;
      }
    } else if (each == '"') {
      is_quoted = true;
    } else if (each == ',' || each == '\n') {
      line.push_back(std::exchange(word, {}));
      if (each == '\n') all.push_back(std::exchange(line, {}));
    } else {
      word += each;
    }
  }
  if (!word.empty() || !line.empty()) {
    line.push_back(word);
    all.push_back(line);
  }
  return all;
}

std::string record(const std::string& folder, const std::vector<result>& all, const facts& machine, bool is_quick) {
  table facts_table = {{"name", "value"}}, verdicts = {{"experiment", "holds", "words", "skipped"}};
  std::string date = "unknown";
  for (const auto& [name, value] : machine) {
    facts_table.push_back({name, value});
    if (name == "date") date = value.substr(0, value.find(' '));
  }
  facts_table.push_back({"kind of run", is_quick ? "quick" : "full"});
  for (const result& each : all) {
    std::string skipped;
    for (const std::string& one : each.skipped) skipped += (skipped.empty() ? "" : "; ") + one;
    verdicts.push_back(
        {each.of->name, name_of(each.told.whether), each.failure.empty() ? each.told.words : each.failure, skipped});
  }
  std::error_code error;
  const fs::path own = fs::path(folder) / machine_name(machine);
  fs::create_directories(own, error);
  if (error) throw problem(fmt::format("{}: {}", own.string(), error.message()));
  fs::path made = own / date;
  for (int number = 2; !fs::create_directory(made, error); ++number) {
    if (error) throw problem(fmt::format("{}: {}", made.string(), error.message()));
    made = own / fmt::format("{}-{}", date, number);
  }
  write_file(made / "machine.csv", facts_table);
  write_file(made / "verdicts.csv", verdicts);
  write_file(made / "figures.csv", figures_of(all));
  return made.string();
}

kept_run read_record(const std::string& folder) {
  kept_run made;
  for (const auto& each : read_table(fs::path(folder) / "machine.csv", 2)) made.machine.emplace_back(each[0], each[1]);
  for (const auto& each : read_table(fs::path(folder) / "verdicts.csv", 4)) made.verdicts[each[0]] = each[1];
  for (const auto& each : read_table(fs::path(folder) / "figures.csv", 9)) {
    const auto number = [&](std::size_t at) { return std::strtod(each[at].c_str(), nullptr); };
    made.figures.push_back({each[0], each[1], each[2], each[3], each[4], each[5], {number(6), number(7), number(8)}});
  }
  return made;
}

}  // namespace tarn::lab
