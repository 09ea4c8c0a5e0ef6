// A kept run: a folder with machine.csv (name, value), verdicts.csv (experiment, holds, text, skipped) and
// figures.csv (experiment, sweep, x, form, role, measure, median, low, high), where a measure is "ns" or the name of
// a count.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/lab/result.hpp"

namespace tarn::lab {

using facts = std::vector<std::pair<std::string, std::string>>;

// Writes DIR/MACHINE/DATE, or DATE-2 … if that exists, and returns its path. Throws `problem`.
std::string record(const std::string& folder, const std::vector<result>& results, const facts& machine, bool is_quick);

// A table of texts; the first row names its columns.
using table = std::vector<std::vector<std::string>>;

std::string as_csv(const table& table_rows);  // RFC 4180, except that lines end with \n
table read_csv(const std::string& text);

struct kept_figure {
  std::string experiment, sweep, x, form, role, measure;
  spread values;
};

struct kept_run {
  facts machine;
  std::map<std::string, std::string> verdicts;  // "yes" …, by experiment
  std::vector<kept_figure> figures;
};

// Throws `problem` if there is no such folder, or if it is not one of ours.
kept_run read_record(const std::string& folder);

}  // namespace tarn::lab
