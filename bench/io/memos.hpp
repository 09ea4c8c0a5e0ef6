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

  explicit answers(std::vector<Key> all_keys) : keys(std::move(all_keys)) {
    for (std::size_t number = 0; number < keys.size(); ++number) {
      map[keys[number]] = static_cast<long>(number);
      memo.put(keys[number], static_cast<long>(number));
    }
  }
};

template <class Key>
void add_look_ups(group& rows, const std::string& kind, std::vector<Key> keys, const settings& parameters) {
  const auto shared_answers = std::make_shared<answers<Key>>(std::move(keys));
  const auto add = [&](const std::string& name, unsigned threads, auto look_up) {
    rows.forms.push_back({kind + ", " + name + (threads == 1 ? "" : ", 2 threads"),
                          [=] {
                            return timed_threads(
                                threads,
                                [&](unsigned thread) {
                                  std::uint32_t random = thread + 1;
                                  long sum = 0;
                                  for (std::size_t number = 0; number < parameters.look_ups; ++number) {
                                    random = random * 1664525 + 1013904223;
                                    sum += look_up(*shared_answers,
                                                   shared_answers->keys[(random >> 8) % shared_answers->keys.size()]);
                                  }
                                  asm volatile("" : : "r"(sum));
                                },
                                static_cast<double>(parameters.look_ups));
                          },
                          false});
  };
  for (const unsigned threads : {1u, 2u}) {
    add("std::unordered_map", threads,
        [](answers<Key>& tables, const Key& key) { return tables.map.find(key)->second; });
    add("tarn memo", threads, [](answers<Key>& tables, const Key& key) { return *tables.memo.get(key); });
    add("std::mutex and map", threads, [](answers<Key>& tables, const Key& key) {
      const std::lock_guard lock(tables.mutex);
      return tables.map.find(key)->second;
    });
    add("std::shared_mutex and map", threads, [](answers<Key>& tables, const Key& key) {
      const std::shared_lock lock(tables.shared_mutex);
      return tables.map.find(key)->second;
    });
  }
  rows.goals.push_back(
      {"memo over unordered_map, " + kind, kind + ", tarn memo", kind + ", std::unordered_map", 1.5, true});
  // Two threads do twice the look-ups in at most 2 / 1.7 of one thread's time, if each has a processor.
  rows.goals.push_back({"two threads' time over one's, " + kind, kind + ", tarn memo, 2 threads", kind + ", tarn memo",
                        2 / 1.7, true, true});
}

inline group memo_group(const settings& parameters, const folder&) {
  group rows{"a hit among 1,000 answers", "ns, by thread", 1, {}, {}};
  std::vector<std::string> names;
  std::vector<long> numbers;
  for (int number = 0; number < 1000; ++number) {
    names.push_back("host" + std::to_string(number) + ".example.org");
    numbers.push_back(number * 7919L);
  }
  add_look_ups(rows, "text", std::move(names), parameters);
  add_look_ups(rows, "number", std::move(numbers), parameters);
  return rows;
}

}  // namespace bench_io
