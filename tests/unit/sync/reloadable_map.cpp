// Values of a map are replaced on their own while they are read.
#include <tarn/reloadable_map.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"

namespace {

using namespace std::chrono_literals;
using tarn::reloadable_map;

struct tenant {
  explicit tenant(int value_) : value(value_), twin(value_) {
    if (value < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  tenant(const tenant& source) : value(source.value), twin(source.twin) { ++alive; }
  ~tenant() {
    value = -1;
    --alive;
  }
  int value;
  int twin;
  static inline std::atomic<int> alive{0};
};

int value_of(const reloadable_map<std::string, tenant>& tenants, const std::string& key) {
  return tenants.with(key, [](const tenant& read) { return read.value; }).value_or(0);
}

TEST(reloadable_map, replaces_each_value_on_its_own) {
  const std::vector<std::pair<std::string, int>> first = {{"a", 1}, {"b", 2}, {"a", 3}};
  reloadable_map<std::string, tenant> tenants(tarn::reload_options{.name = "tenants"}, first.begin(), first.end());
  EXPECT_EQ(tenants.size(), 2u);
  EXPECT_EQ(value_of(tenants, "a"), 1);
  const auto before = tenants.find("a");
  ASSERT_TRUE(before.has_value());
  tenants.publish("a", 10);
  EXPECT_EQ(value_of(tenants, "a"), 10);
  EXPECT_EQ(value_of(tenants, "b"), 2);
  EXPECT_EQ((*before)->value, 1);
  EXPECT_LT(before->version(), tenants.find("a")->version());
  tenants.publish("c", 30);
  EXPECT_EQ(tenants.size(), 3u);
  EXPECT_EQ(value_of(tenants, "c"), 30);
  EXPECT_EQ(tenant::alive, 4);
  EXPECT_EQ(tenants.parked_readers().size(), 1u);
  EXPECT_FALSE(tenants.wait_for_readers(0s));
  int sum = 0;
  EXPECT_EQ(tenants.for_each(
                [&](const std::string& key, const tenant& read) { sum += read.value + static_cast<int>(key.size()); }),
            3u);
  EXPECT_EQ(sum, 45);
}

TEST(reloadable_map, an_erased_value_lives_while_it_is_read) {
  {
    reloadable_map<std::string, tenant> tenants;
    EXPECT_FALSE(tenants.erase("a"));
    tenants.publish("a", 1);
    {
      const auto entry = tenants.find("a");
      EXPECT_TRUE(tenants.erase("a"));
      EXPECT_FALSE(tenants.erase("a"));
      EXPECT_FALSE(tenants.contains("a"));
      EXPECT_FALSE(tenants.with("a", [](const tenant&) {}));
      EXPECT_FALSE(tenants.update("a", [](tenant&) {}));
      EXPECT_EQ((*entry)->value, 1);
      tenants.publish("a", 2);
      EXPECT_EQ((*entry)->value, 1);
      EXPECT_EQ(tenant::alive, 2);
      EXPECT_EQ(tenants.collect(), 1u);
    }
    EXPECT_EQ(tenants.collect(), 0u);
    EXPECT_EQ(tenant::alive, 1);
    EXPECT_EQ(value_of(tenants, "a"), 2);
  }
  EXPECT_EQ(tenant::alive, 0);
}

TEST(reloadable_map, a_change_that_fails_changes_nothing) {
  reloadable_map<std::string, tenant> tenants(tarn::reload_options{.name = "tenants", .max_retired = 1});
  tenants.publish("a", 1);
  EXPECT_THROW(tenants.publish("a", -1), std::invalid_argument);
  EXPECT_THROW(tenants.publish("b", -1), std::invalid_argument);
  EXPECT_FALSE(tenants.contains("b"));
  EXPECT_THROW(tenants.update("a", [](tenant&) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(value_of(tenants, "a"), 1);
  const auto entry = tenants.find("a");
  tenants.publish("a", 2);
  const auto second = tenants.find("a");
  try {
    tenants.publish("a", 3);
    FAIL() << "two versions that are read are retired";
  } catch (const tarn::publish_refused& refused) {
    EXPECT_EQ(std::string(refused.what()).substr(0, 51), "tarn: reloadable_map \"tenants\": not published: 1 re");
  }
  EXPECT_EQ(value_of(tenants, "a"), 2);
  EXPECT_EQ(tenant::alive, 2);
}

TEST(reloadable_map, an_update_begins_again_when_the_value_was_replaced_or_erased_meanwhile) {
  reloadable_map<std::string, tenant> tenants;
  tenants.publish("a", 1);
  int calls = 0;
  EXPECT_TRUE(tenants.update("a", [&](tenant& copy) {
    if (calls++ == 0) {
      tenants.publish("a", 10);  // as another thread may
    }
    ++copy.value;
  }));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(value_of(tenants, "a"), 11);
  EXPECT_FALSE(tenants.update("a", [&](tenant&) { tenants.erase("a"); }));
  EXPECT_FALSE(tenants.contains("a"));
}

TEST(reloadable_map, ends_with_a_fault_while_a_value_is_read) {
  auto* const tenants = new reloadable_map<std::string, tenant>(tarn::reload_options{.name = "tenants"});
  tenants->publish("a", 1);
  const auto child_ending = support::in_child([&] {
    const auto entry = tenants->find("a");
    delete tenants;
  });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  const std::string start = "tarn: reloadable_map \"tenants\" at 0x";
  EXPECT_EQ(child_ending.error.substr(0, start.size()), start);
  EXPECT_NE(child_ending.error.find(" ends while version "), std::string::npos) << child_ending;
  delete tenants;
}

// Keys come and go while they are read; an update sees a whole value, and no change of one is lost.
TEST(reloadable_map, nothing_is_torn_or_lost_between_threads) {
  {
    reloadable_map<int, tenant> counters;
    counters.publish(0, 0);
    constexpr int rounds = TARN_SMALL ? 300 : 1000;
    std::atomic<bool> is_over{false};
    std::atomic<int> torn{0};
    std::vector<std::thread> readers;
    for (int thread = 0; thread < 2; ++thread) {
      readers.emplace_back([&] {
        while (!is_over) {
          for (int key = 0; key < 4; ++key) {
            if (const auto now = counters.find(key)) torn += (*now)->value != (*now)->twin || (*now)->value < 0 ? 1 : 0;
          }
          counters.for_each([&](int, const tenant& now) { torn += now.value != now.twin ? 1 : 0; });
        }
      });
    }
    std::vector<std::thread> writers;
    for (int thread = 0; thread < 2; ++thread) {
      writers.emplace_back([&, thread] {
        for (int round = 0; round < rounds; ++round) {
          while (true) {
            try {
              EXPECT_TRUE(counters.update(0, [](tenant& copy) { copy.twin = ++copy.value; }));
              break;
            } catch (const tarn::publish_refused&) {
              std::this_thread::yield();
            }
          }
          try {
            counters.publish(1 + (round + thread) % 3, round);
            if (round % 3 == thread) static_cast<void>(counters.erase(1 + round % 3));
          } catch (const tarn::publish_refused&) {
            std::this_thread::yield();
          }
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    is_over = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(counters.with(0, [](const tenant& now) { return now.value; }), 2 * rounds);
    EXPECT_EQ(counters.collect(), 0u);
    EXPECT_EQ(static_cast<std::size_t>(tenant::alive), counters.size());
  }
  EXPECT_EQ(tenant::alive, 0);
}

}  // namespace
