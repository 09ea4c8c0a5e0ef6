// Tests pools of objects: construction, destruction, locks; and operation sequences against an oracle.
#include <tarn/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tarn/spin_mutex.hpp>

#include "support/upstream.hpp"

namespace {

struct instance_counter {
  explicit instance_counter(int value_ = 0) : value(value_) {
    if (value < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  ~instance_counter() { --alive; }
  instance_counter(const instance_counter&) = delete;
  instance_counter& operator=(const instance_counter&) = delete;

  int value;
  std::string text = "a text that is too long to stand in the object itself";
  static inline int alive = 0;
};

TEST(pool, creates_and_destroys) {
  tarn::pool<instance_counter> pool;
  instance_counter* const first = pool.create(1);
  instance_counter* const two = pool.create(2);
  EXPECT_EQ(first->value, 1);
  EXPECT_EQ(two->value, 2);
  EXPECT_EQ(instance_counter::alive, 2);
  pool.destroy(first);
  pool.destroy(nullptr);
  EXPECT_EQ(instance_counter::alive, 1);
  pool.destroy(two);
  EXPECT_EQ(instance_counter::alive, 0);
  EXPECT_EQ(pool.statistics().in_use, 0u);
  EXPECT_TRUE(pool.is_valid());
}

TEST(pool, a_constructor_that_throws_costs_no_block) {
  tarn::pool<instance_counter> pool({.limit_blocks = 1});
  EXPECT_THROW(static_cast<void>(pool.create(-1)), std::invalid_argument);
  EXPECT_EQ(pool.statistics().in_use, 0u);
  pool.destroy(pool.create(1));
}

TEST(pool, unique_pointers_give_back) {
  tarn::pool<instance_counter> pool;
  static_assert(sizeof(tarn::pool<instance_counter>::unique) == 2 * sizeof(void*));
  tarn::pool<instance_counter>::unique owner;
  {
    auto first = pool.make_unique(7);
    owner = std::move(first);
    EXPECT_EQ(first, nullptr);
    EXPECT_EQ(owner->value, 7);
  }
  EXPECT_EQ(instance_counter::alive, 1);
  owner.reset();
  EXPECT_EQ(instance_counter::alive, 0);
  EXPECT_EQ(pool.statistics().in_use, 0u);
}

TEST(pool, destroys_what_lives_when_asked) {
  tarn::pool<instance_counter> pool;
  std::vector<instance_counter*> objects;
  for (int value = 0; value < 1000; ++value) objects.push_back(pool.create(value));
  for (std::size_t index = 0; index < objects.size(); index += 3) pool.destroy(objects[index]);
  EXPECT_EQ(instance_counter::alive, 666);
  pool.destroy_all();
  EXPECT_EQ(instance_counter::alive, 0);
  EXPECT_EQ(pool.statistics().in_use, 0u);
  pool.destroy(pool.create(5));
}

TEST(pool, visits_each_live_object) {
  tarn::pool<int> pool;
  std::vector<int*> objects;
  for (int number = 0; number < 1000; ++number) objects.push_back(pool.create(number));
  for (std::size_t index = 0; index < objects.size(); index += 2) pool.destroy(objects[index]);
  int count = 0, sum = 0;
  pool.for_each_live([&](const int& object) { ++count, sum += object; });
  EXPECT_EQ(count, 500);
  EXPECT_EQ(sum, 250000);  // 1 + 3 + … + 999
}

#if !TARN_ADDRESS_SANITIZER  // it detects the object first
TEST(pool_death, a_visit_names_a_double_free_of_a_type_without_a_destructor) {
  const auto free_twice = [] {
    tarn::pool<long> pool;
    long* const object = pool.create(1);
    static_cast<void>(pool.create(2));
    pool.destroy(object);
    pool.destroy(object);
    pool.for_each_live([](long&) {});
  };
  EXPECT_DEATH(free_twice(), "double free");
}
#endif

struct alignas(256) wide {
  char bytes[300];
};

TEST(pool, honours_the_alignment_of_its_type) {
  tarn::pool<wide> pool;
  for (int index = 0; index < 50; ++index) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.create()) % 256, 0u);
}

TEST(pool, a_small_type_is_no_larger_than_a_pointer) {
  tarn::pool<char> pool({.first_chunk_blocks = 100});
  for (int index = 0; index < 100; ++index) *pool.create() = 'x';
  EXPECT_EQ(pool.statistics().chunks, 1u);
}

// Random operations: the content of the pool and its statistics are compared after each.
TEST(pool, sequences_agree_with_an_oracle) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::minstd_rand random(seed);
    support::upstream memory;
    tarn::pool<instance_counter> tested(
        {.upstream = &memory, .first_chunk_blocks = 1 + seed % 5, .increment_blocks = seed % 3 * 4});
    std::map<instance_counter*, int> oracle;
    for (int step = 0; step < 3000; ++step) {
      const auto chance = static_cast<unsigned>(random() % 100);
      const bool is_growing = step / 500 % 2 == 0;
      if (chance < (is_growing ? 60u : 35u)) {
        const int value = static_cast<int>(random() % 1000);
        ASSERT_TRUE(oracle.emplace(tested.create(value), value).second) << "handed out twice";
      } else if (chance < 97) {
        if (!oracle.empty()) {
          auto position = oracle.begin();
          std::advance(position, static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(oracle.size(), 50)));
          ASSERT_EQ(position->first->value, position->second);
          tested.destroy(position->first);
          oracle.erase(position);
        }
      } else if (chance == 97) {
        tested.reserve(random() % 500);
      } else if (step % 10 == 0) {
        tested.destroy_all();
        oracle.clear();
      }
      ASSERT_EQ(tested.statistics().in_use, oracle.size());
      ASSERT_EQ(instance_counter::alive, static_cast<int>(oracle.size()));
      if (step % 50 == 0) {
        ASSERT_TRUE(tested.is_valid());
      }
    }
    tested.destroy_all();
  }
}

template <class Mutex>
class pool_with_lock : public testing::Test {};
using locks = testing::Types<std::mutex, tarn::spin_mutex>;
TYPED_TEST_SUITE(pool_with_lock, locks);

TYPED_TEST(pool_with_lock, serves_many_threads) {
  tarn::pool<std::uint64_t, TypeParam> shared({.first_chunk_blocks = 4});
  std::atomic<bool> is_wrong{false};
  std::vector<std::thread> threads;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      std::vector<std::uint64_t*> own_objects;
      for (std::uint64_t round = 0; round < 3000; ++round) {
        if (round % 7 < 4) {
          own_objects.push_back(shared.create(id << 32 | round));
        } else if (!own_objects.empty()) {
          is_wrong = is_wrong || *own_objects.back() >> 32 != id;
          shared.destroy(own_objects.back());
          own_objects.pop_back();
        }
      }
      for (std::uint64_t* const object : own_objects) {
        is_wrong = is_wrong || *object >> 32 != id;
        shared.destroy(object);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(is_wrong);
  EXPECT_EQ(shared.statistics().in_use, 0u);
  EXPECT_TRUE(shared.is_valid());
}

// More threads than processors all want it, and each gets its turn.
TEST(spin_mutex, does_not_collapse_when_threads_outnumber_cores) {
  tarn::spin_mutex lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int id = 0; id < 16; ++id) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        const std::lock_guard<tarn::spin_mutex> hold(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 16'000);
}

}  // namespace
