#include "profiler/lab/record.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "profiler/lab/json.hpp"
#include "profiler/lab/machine.hpp"
#include "profiler/lab/run.hpp"

namespace tarn::lab {
namespace {

namespace fs = std::filesystem;

// Five digits are all that a clock provides.
std::string digits(double number) { return fmt::format("{:.5g}", number); }

std::string x_text(std::uint64_t x) { return std::to_string(x); }

table figures_of(const std::vector<result>& results) {
  table rows = {{"experiment", "sweep", "x", "form", "role", "measure", "median", "low", "high"}};
  for (const result& result : results) {
    for (const row& row : result.rows) {
      std::string role;
      for (const form& form : result.forms) {
        if (form.name == row.form) role = name_of(form.origin);
      }
      const auto add = [&](const std::string& measure, const std::vector<double>& values) {
        const spread spread = spread_of(values);
        rows.push_back({result.definition->name, result.definition->sweeps[row.sweep].name, x_text(row.x), row.form,
                        role, measure, digits(spread.median), digits(spread.low), digits(spread.high)});
      };
      if (!row.ns.empty()) add("ns", row.ns);
      for (const auto& [name, values] : row.counts) add(name, values);
    }
  }
  return rows;
}

void write_file(const fs::path& path, const table& rows) {
  std::ofstream file(path, std::ios::binary);
  file << as_csv(rows);
  file.close();
  if (!file) throw problem(fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

table read_table(const fs::path& path, std::size_t columns) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw problem(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  table rows = read_csv({std::istreambuf_iterator<char>(file), {}});
  if (!rows.empty()) rows.erase(rows.begin());
  for (const std::vector<std::string>& row : rows) {
    if (row.size() != columns) throw problem(fmt::format("{}: not what tarn lab --record writes", path.string()));
  }
  return rows;
}

}  // namespace

std::string as_csv(const table& rows) {
  std::string text;
  for (const std::vector<std::string>& line : rows) {
    for (std::size_t index = 0; index < line.size(); ++index) {
      if (index != 0) text += ',';
      if (line[index].find_first_of(",\"\n") == std::string::npos) {
        text += line[index];
        continue;
      }
      text += '"';
      for (const char letter : line[index]) text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

table read_csv(const std::string& text) {
  table rows;
  std::vector<std::string> line;
  std::string word;
  bool is_quoted = false;
  for (std::size_t position = 0; position < text.size(); ++position) {
    const char letter = text[position];
    if (is_quoted) {
      if (letter != '"') {
        word += letter;
      } else if (position + 1 < text.size() && text[position + 1] == '"') {
        word += text[++position];
      } else {
        is_quoted = false;
      }
    } else if (letter == '"') {
      is_quoted = true;
    } else if (letter == ',' || letter == '\n') {
      line.push_back(std::exchange(word, {}));
      if (letter == '\n') rows.push_back(std::exchange(line, {}));
    } else {
      word += letter;
    }
  }
  if (!word.empty() || !line.empty()) {
    line.push_back(word);
    rows.push_back(line);
  }
  return rows;
}

std::string record(const std::string& folder, const std::vector<result>& results, const facts& machine, bool is_quick) {
  table facts_table = {{"name", "value"}}, verdicts = {{"experiment", "holds", "text", "skipped"}};
  std::string date = "unknown";
  for (const auto& [name, value] : machine) {
    facts_table.push_back({name, value});
    if (name == "date") date = value.substr(0, value.find(' '));
  }
  facts_table.push_back({"kind of run", is_quick ? "quick" : "full"});
  for (const result& result : results) {
    std::string skipped;
    for (const std::string& note : result.skipped) skipped += (skipped.empty() ? "" : "; ") + note;
    verdicts.push_back({result.definition->name, name_of(result.judgement.outcome),
                        result.failure.empty() ? result.judgement.text : result.failure, skipped});
  }
  std::error_code error;
  const fs::path machine_folder = fs::path(folder) / machine_name(machine);
  fs::create_directories(machine_folder, error);
  if (error) throw problem(fmt::format("{}: {}", machine_folder.string(), error.message()));
  fs::path folder_made = machine_folder / date;
  for (int number = 2; !fs::create_directory(folder_made, error); ++number) {
    if (error) throw problem(fmt::format("{}: {}", folder_made.string(), error.message()));
    folder_made = machine_folder / fmt::format("{}-{}", date, number);
  }
  write_file(folder_made / "machine.csv", facts_table);
  write_file(folder_made / "verdicts.csv", verdicts);
  write_file(folder_made / "figures.csv", figures_of(results));
  return folder_made.string();
}

kept_run read_record(const std::string& folder) {
  kept_run run;
  for (const auto& row : read_table(fs::path(folder) / "machine.csv", 2)) run.machine.emplace_back(row[0], row[1]);
  for (const auto& row : read_table(fs::path(folder) / "verdicts.csv", 4)) run.verdicts[row[0]] = row[1];
  for (const auto& row : read_table(fs::path(folder) / "figures.csv", 9)) {
    const auto number = [&](std::size_t column) { return std::strtod(row[column].c_str(), nullptr); };
    run.figures.push_back({row[0], row[1], row[2], row[3], row[4], row[5], {number(6), number(7), number(8)}});
  }
  return run;
}

}  // namespace tarn::lab
