// Measures a look-up that hits: memo beside a map without a lock, which threads cannot share, and with one.
#pragma once

#include <tarn/io.hpp>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "settings.hpp"

namespace bench_io {

template <class Key>
struct answers {
  std::vector<Key> keys;
  std::unordered_map<Key, long> map;
  tarn::io::memo<Key, long> memo{[](const Key&) { return 0L; }, {.entries = 4096}};
  std::mutex mutex;
  std::shared_mutex shared_mutex;

  explicit answers(std::vector<Key> all) : keys(std::move(all)) {
    for (std::size_t at = 0; at < keys.size(); ++at) {
      map[keys[at]] = static_cast<long>(at);
      memo.put(keys[at], static_cast<long>(at));
    }
  }
};

template <class Key>
void add_look_ups(group& to, const std::string& kind, std::vector<Key> keys, const settings& wanted) {
  const auto all = std::make_shared<answers<Key>>(std::move(keys));
  const auto add = [&](const std::string& name, unsigned threads, auto look_up) {
    to.forms.push_back({kind + ", " + name + (threads == 1 ? "" : ", 2 threads"),
                        [=] {
                          return timed_threads(
                              threads,
                              [&](unsigned thread) {
                                std::uint32_t random = thread + 1;
                                long sum = 0;
                                for (std::size_t at = 0; at < wanted.look_ups; ++at) {
                                  random = random * 1664525 + 1013904223;
                                  sum += look_up(*all, all->keys[(random >> 8) % all->keys.size()]);
                                }
                                asm volatile("" : : "r"(sum));
                              },
                              static_cast<double>(wanted.look_ups));
                        },
                        false});
  };
  for (const unsigned threads : {1u, 2u}) {
    add("std::unordered_map", threads, [](answers<Key>& of, const Key& key) { return of.map.find(key)->second; });
    add("tarn memo", threads, [](answers<Key>& of, const Key& key) { return *of.memo.get(key); });
    add("std::mutex and map", threads, [](answers<Key>& of, const Key& key) {
      const std::lock_guard lock(of.mutex);
      return of.map.find(key)->second;
    });
    add("std::shared_mutex and map", threads, [](answers<Key>& of, const Key& key) {
      const std::shared_lock lock(of.shared_mutex);
      return of.map.find(key)->second;
    });
  }
  to.goals.push_back(
      {"memo over unordered_map, " + kind, kind + ", tarn memo", kind + ", std::unordered_map", 1.5, true});
  // Two threads do twice the look-ups in at most 2 / 1.7 of one thread's time, if each has a processor.
  to.goals.push_back({"two threads' time over one's, " + kind, kind + ", tarn memo, 2 threads", kind + ", tarn memo",
                      2 / 1.7, true, true});
}

inline group memo_group(const settings& wanted, const folder&) {
  group all{"a hit among 1,000 answers", "ns, by thread", 1, {}, {}};
  std::vector<std::string> names;
  std::vector<long> numbers;
  for (int at = 0; at < 1000; ++at) {
    names.push_back("host" + std::to_string(at) + ".example.org");
    numbers.push_back(at * 7919L);
  }
  add_look_ups(all, "text", std::move(names), wanted);
  add_look_ups(all, "number", std::move(numbers), wanted);
  return all;
}

}  // namespace bench_io
