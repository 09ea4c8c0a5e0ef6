#include <map>

#include "exports/formats.hpp"
#include "exports/frames.hpp"
#include "exports/text.hpp"

namespace tarn::exports {
namespace {

// A semicolon ends a frame, and a control character may end a line.
std::string one_frame(std::string_view text) {
  std::string name = well_formed(text);
  for (char& each : name) {
    const auto code = static_cast<unsigned char>(each);
    if (each == ';') each = ':';
    if (code < 0x20 || code == 0x7f) each = ' ';
  }
  return name;
}

}  // namespace

std::string as_collapsed(const profile& of, measure which) {
  frames known(of);
  std::map<std::string, std::uint64_t> lines;  // sorted, so that two exports can be compared
  for (const sample& each : of.samples()) {
    if (each.counted[which] == 0) continue;
    std::string line;
    for (const std::uint32_t number : known.of(each)) {
      if (!line.empty()) line += ';';
      line += one_frame(known.all()[number].name);
    }
    lines[line] += each.counted[which];
  }
  std::string file;
  for (const auto& [line, count] : lines) file += line + ' ' + std::to_string(count) + '\n';
  return file;
}

}  // namespace tarn::exports
