// Looks up fields of requests by a string that is made for the look-up alone. Remedy: hoist, here to a view.
#pragma once
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "predictions/work.hpp"

namespace predictions::headers {

constexpr std::array<std::string_view, 8> names = {
    "access-control-allow-origin", "content-security-policy",  "if-unmodified-since-date", "proxy-authorization-info",
    "strict-transport-security",   "upgrade-insecure-request", "x-forwarded-for-address",  "x-content-type-options"};

using fields = std::map<std::string, std::uint64_t, std::less<>>;

template <bool View>
[[gnu::noinline]] std::uint64_t value_of(const fields& headers, std::string_view name) {
  if constexpr (View) {
    const auto position = headers.find(name);
    return position == headers.end() ? 0 : position->second;
  } else {
    const auto position = headers.find(std::string(name));
    return position == headers.end() ? 0 : position->second;
  }
}

template <bool View>
std::uint64_t run(std::uint64_t rounds) {
  fields headers;
  for (const std::string_view name : names) headers.emplace(name, name.size());
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round)
    sum = sum * 31 + value_of<View>(headers, names[random.next_below(names.size())]);
  return sum;
}

}  // namespace predictions::headers
