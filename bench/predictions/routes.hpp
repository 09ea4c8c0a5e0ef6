// Makes and drops a table of sessions by number for each batch of requests. Remedy: pooled table nodes.
#pragma once
#include <functional>
#include <type_traits>
#include <unordered_map>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::routes {

struct session {
  std::uint64_t user, last, bytes;
};
using entry = std::pair<const std::uint32_t, session>;
template <bool Pooled>
using table = std::unordered_map<std::uint32_t, session, std::hash<std::uint32_t>, std::equal_to<>,
                                 std::conditional_t<Pooled, tarn::allocator<entry>, std::allocator<entry>>>;

template <bool Pooled>
[[gnu::noinline]] void add_session(table<Pooled>& sessions, std::uint32_t number) {
  session& updated = sessions[number];
  updated.last = number;
  updated.bytes += 100;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    table<Pooled> sessions;
    sessions.reserve(256);
    for (std::uint32_t requests = 50 + random.next_below(150); requests > 0; --requests)
      add_session<Pooled>(sessions, random.next_below(1000));
    sum = sum * 31 + sessions.size();
  }
  return sum;
}

}  // namespace predictions::routes
