// Reads documents with a packaged library, nlohmann::json, and drops them. Remedy: all its containers pooled, through
// its allocator.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::documents {

template <bool Pooled>
struct json_type {
  using type = nlohmann::json;
};
template <>
struct json_type<true> {
  using type = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, double,
                                    tarn::allocator>;
};

inline std::string document(numbers& random) {
  std::string text = "{\"orders\": [";
  for (int order = 0; order < 20; ++order) {
    if (order != 0) text += ", ";
    text += "{\"id\": " + std::to_string(random.next_below(100000)) + ", \"city\": \"town" +
            std::to_string(random.next_below(90)) + "\", \"open\": true, \"lines\": [";
    for (int line = 0; line < 3; ++line) text += (line != 0 ? ", " : "") + std::to_string(random.next_below(1000));
    text += "]}";
  }
  return text + "]}";
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<std::string> texts;
  for (int number = 0; number < 20; ++number) texts.push_back(document(random));
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto read = json_type<Pooled>::type::parse(texts[round % texts.size()]);
    for (const auto& order : read["orders"])
      sum = sum * 31 + order["id"].template get<std::uint64_t>() + order["lines"].size();
  }
  return sum;
}

}  // namespace predictions::documents
