// Cuts lines into fields, each time into a new list. Remedy: hoist the list.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "predictions/work.hpp"

namespace predictions::fields {

inline void cut(std::string_view line, std::vector<std::string_view>& fields) {
  for (std::size_t end; (end = line.find(',')) != line.npos; line.remove_prefix(end + 1))
    fields.push_back(line.substr(0, end));
  fields.push_back(line);
}
inline std::uint64_t sum_of(const std::vector<std::string_view>& fields) {
  std::uint64_t sum = fields.size();
  for (const std::string_view field : fields) sum = sum * 7 + field.size() + static_cast<unsigned char>(field.front());
  return sum;
}

[[gnu::noinline]] inline std::uint64_t take_line(std::string_view line) {
  std::vector<std::string_view> fields;
  cut(line, fields);
  return sum_of(fields);
}
[[gnu::noinline]] inline std::uint64_t take_line(std::string_view line, std::vector<std::string_view>& kept) {
  kept.clear();
  cut(line, kept);
  return sum_of(kept);
}

template <bool Hoisted>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<std::string> lines(64);
  for (std::string& generated : lines) {
    for (std::uint32_t fields_left = 4 + random.below(12); fields_left > 0; --fields_left)
      generated.append(1 + random.below(12), static_cast<char>('a' + random.below(26)))
          .append(fields_left > 1 ? "," : "");
  }
  std::uint64_t sum = 0;
  std::vector<std::string_view> kept;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) {
    const std::string& line = lines[random.below(64)];
    sum = sum * 31 + (Hoisted ? take_line(line, kept) : take_line(line));
  }
  return sum;
}

}  // namespace predictions::fields
