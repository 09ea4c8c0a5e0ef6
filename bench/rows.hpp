// The table of rows. A form has the rows that its front can express.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "rows/drop.hpp"
#include "rows/handoff.hpp"
#include "rows/list.hpp"
#include "rows/pair.hpp"
#include "rows/remote.hpp"
#include "rows/reply.hpp"
#include "rows/slots.hpp"
#include "rows/threads.hpp"
#include "work.hpp"

namespace bench {

struct row {
  std::string name;
  unsigned threads;
  std::uint64_t units;  // units of work in one repetition by one thread
  work run;
  // A factor on the usual time: less where others are many times slower than glibc, more where they are faster.
  double budget = 1;
  bool is_baseline = false;   // allocates nothing; reported, but in no mean
  bool is_for_pools = false;  // measured only beside pools and arenas
  bool is_alone = false;      // in a process without another thread
};

using table = std::vector<row>;

inline std::string named(std::string name, unsigned threads) {
  return threads == 1 ? name : name + "-" + std::to_string(threads) + "t";
}

template <class Front>
concept pool = requires { Front::is_pool; };
template <class Front>
concept arena = requires { Front::is_arena; };
template <class Front>
concept nothing = requires { Front::is_nothing; };  // a front that allocates nothing can hold one block at a time

template <class Front, std::size_t Size>
void add_pairs(table& rows) {
  for (const unsigned threads : {1u, 2u, 4u, 8u}) {
    if (threads > 1 && pool<Front> && Size != 64) break;
    if (threads == 8 && Size != 64) break;
    rows.push_back({named("pair-" + std::to_string(Size), threads), threads, 1, pair<Front, Size>,
                    Size > 1024 ? 3.0 : 1.5, false, threads == 8});
  }
}

template <class Front>
void add_bursts(table& rows) {
  for (const unsigned threads : {1u, 2u}) {
    rows.push_back({named("burst-fifo-64", threads), threads, 64, burst<Front, 64, order::fifo>, 3});
    rows.push_back({named("burst-lifo-64", threads), threads, 64, burst<Front, 64, order::lifo>, 3});
  }
}

template <class Front, std::size_t Count>
void add_list(table& rows) {
  rows.push_back({"list-" + std::to_string(Count), 1, Count, list<Front, Count>, 2});
  if constexpr (Count >= 100)
    rows.push_back({"list-" + std::to_string(Count) + "-alone", 1, Count, list<Front, Count>, 2, false, true, true});
}

template <class Front>
void add_working_sets(table& rows) {
  rows.push_back({"scatter-10000", 1, 10000, scatter<Front, 64, 10000>, 3});
  for (const unsigned threads : {1u, 2u}) {
    if constexpr (requires(Front f) { f.allocate(1); })
      rows.push_back({named("slots-random", threads), threads, 1, slots<Front>});
    rows.push_back({named("slots-64", threads), threads, 1, fixed_slots<Front, 64>});
  }
}

template <class Front>
void add_cross_thread(table& rows) {
  if constexpr (Front::lets_any_thread_free) {
    if constexpr (requires(Front f) { f.allocate(1); })
      for (const unsigned threads : {2u, 4u}) rows.push_back({named("server", threads), threads, 1, server_mix<Front>});
    rows.push_back({"queue-alone", 2, 1, queue_alone, 0.5, true});
    rows.push_back({"handoff-64", 2, 1, handoff<Front, 64>});
    rows.push_back({"handoff-1024", 2, 1, handoff<Front, 1024>});
    if constexpr (requires(Front f) { f.allocate(1); }) rows.push_back({"handoff-random", 2, 1, random_handoff<Front>});
    for (const unsigned threads : {2u, 8u})
      rows.push_back({named("xmalloc", threads), threads, 4096, xmalloc<Front, 64, 4096, 100>});
    rows.push_back({"pipeline-64-2t", 2, 1024, xmalloc<Front, 64, 1024, 8>});
    if constexpr (requires(Front f) { f.allocate(1); })
      rows.push_back({"messages-8t", 8, correspondent<Front>::messages_at_once, messages<Front>});
    rows.push_back({"owners-64t", 64, 1000, owners<Front, 1000>});
  }
  rows.push_back({"thread", 1, 1, short_thread<Front>});
  if constexpr (Front::lets_any_thread_free) rows.push_back({"orphans", 1, 1, orphans<Front>});
}

template <class Front>
void add_drop(table& rows) {
  if constexpr (arena<Front> || requires(Front f) { f.allocate(1); })
    rows.push_back({"drop-200", 1, 200, drop<Front>, 1, false, true});
}

template <class Front>
void add_string(table& rows) {
  if constexpr (requires(Front f) { f.make_string(); }) rows.push_back({"reply-string", 1, 1, string_reply<Front>});
}

template <class Front>
void add_server_objects(table& rows) {
  if constexpr (requires(Front f) { f.reallocate(nullptr, 1); }) {
    rows.push_back({"reply-double", 1, 1, reply<Front, growth::doubling>});
    rows.push_back({"reply-step", 1, 1, reply<Front, growth::step>, 0.5});
    rows.push_back({"realloc-chain", 1, 1, growth_chain<Front>, 0.5});
  }
  add_string<Front>(rows);
  if constexpr (requires(Front f) { f.allocate(1); }) rows.push_back({"request-200", 1, 200, request<Front>});
  add_drop<Front>(rows);
}

template <class Front>
void add_other_calls(table& rows) {
  if constexpr (requires(Front f) { f.allocate_zeroed(1); }) {
    rows.push_back({"calloc-64", 1, 1, zeroed_pair<Front, 64>, 3});
    rows.push_back({"calloc-4096", 1, 1, zeroed_pair<Front, 4096>});
  }
  if constexpr (requires(Front f) { f.allocate_aligned(1, 1); })
    rows.push_back({"aligned-64", 1, 1, aligned_pair<Front, 64, 64>, 5});
  if constexpr (requires(Front f) { f.allocate(1); }) {
    rows.push_back({"large-256k", 1, 1, large<Front, 256 * 1024>, 0.5});
    rows.push_back({"large-1m", 1, 1, large<Front, 1024 * 1024>, 0.3});
    rows.push_back({"large-8m", 1, 1, large<Front, 8 * 1024 * 1024>, 0.1});
  }
}

template <class Front>
table all_rows() {
  table rows;
  if constexpr (nothing<Front>) {
    add_pairs<Front, 64>(rows);
    return rows;
  } else if constexpr (arena<Front>) {
    add_drop<Front>(rows);
    add_string<Front>(rows);
    return rows;
  } else {
    [&]<std::size_t... Sizes>(std::index_sequence<Sizes...>) {
      (
          [&] {
            if constexpr (!pool<Front> || Sizes <= 1024) add_pairs<Front, Sizes>(rows);
          }(),
          ...);
    }(std::index_sequence<16, 64, 256, 1024, 4096, 16384, 61432>{});
    add_bursts<Front>(rows);
    [&]<std::size_t... Counts>(std::index_sequence<Counts...>) {
      (add_list<Front, Counts>(rows), ...);
    }(std::index_sequence<1, 10, 100, 1000, 10000>{});
    add_working_sets<Front>(rows);
    add_cross_thread<Front>(rows);
    add_server_objects<Front>(rows);
    add_other_calls<Front>(rows);
    return rows;
  }
}

}  // namespace bench
