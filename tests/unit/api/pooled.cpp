// Tests classes and plain values in the current heap: every form of new and delete.
#include <tarn/pooled.hpp>

#include <memory>
#include <new>
#include <string>

#include "front_fixture.hpp"

namespace front_tests {
namespace {

int alive = 0;

struct instance_counter {
  instance_counter() { ++alive; }
  ~instance_counter() { --alive; }
};

struct order : instance_counter, tarn::pooled<order> {
  std::uint64_t number = 7;
  std::string name = "a name that is not short enough to be inside";
};
struct base : instance_counter, tarn::pooled<base> {
  virtual ~base() = default;
  int first = 1;
};
struct derived : base {
  char payload[300] = {1};
  ~derived() override { payload[0] = 0; }
};
struct large_derived : base {
  char payload[300'000] = {1};
};
struct alignas(64) over_aligned : instance_counter, tarn::pooled<over_aligned> {
  char bytes[40] = {};
};
struct alignas(4096) page_aligned : instance_counter, tarn::pooled<page_aligned> {
  char bytes[10] = {};
};
struct throwing : tarn::pooled<throwing> {
  explicit throwing(bool throws_now) {
    if (throws_now) throw std::runtime_error("thrown on request");
  }
  char bytes[200] = {};
};

/// Returns the bytes in use in a counting heap, which shows blocks of the class that were not given back.
class pooled_test : public front_test {
 protected:
  void SetUp() override {
    front_test::SetUp();
    alive = 0;
    use.emplace(lane);
  }
  void TearDown() override {
    use.reset();
    const auto now = lane.statistics();
    EXPECT_EQ(now.allocated_blocks, now.freed_blocks);
    EXPECT_EQ(now.allocated_bytes, now.freed_bytes);
    EXPECT_EQ(alive, 0);
    EXPECT_TRUE(lane.is_valid());
    front_test::TearDown();
  }
  std::uint64_t bytes() const { return lane.statistics().allocated_bytes - lane.statistics().freed_bytes; }

  tarn::heap lane{{.name = "lane", .counts_calls = true}};
  std::optional<tarn::scoped_current_heap> use;
};

TEST_F(pooled_test, single_objects_come_from_the_current_heap) {
  auto* const single = new order;
  EXPECT_EQ(tarn::owner_of(single), &lane);
  EXPECT_EQ(single->number, 7u);
  EXPECT_EQ(bytes(), tarn::detail::size_of(tarn::detail::class_of(sizeof(order))));
  delete single;
  EXPECT_EQ(bytes(), 0u);
  const auto object = std::make_unique<order>();
  EXPECT_EQ(tarn::owner_of(object.get()), &lane);
  std::unique_ptr<order> nothing;
  delete nothing.release();
}

TEST_F(pooled_test, arrays_come_from_the_current_heap) {
  for (const std::size_t count : {0, 1, 3, 100, 5'000}) {
    auto* const array = new order[count];
    EXPECT_EQ(alive, static_cast<int>(count));
    EXPECT_EQ(tarn::owner_of(array), &lane);
    EXPECT_GE(bytes(), count * sizeof(order));
    delete[] array;
    EXPECT_EQ(bytes(), 0u);
  }
}

TEST_F(pooled_test, derived_objects_can_be_deleted_through_the_base) {
  base* const first = new derived;
  EXPECT_EQ(bytes(), tarn::detail::size_of(tarn::detail::class_of(sizeof(derived))));
  delete first;
  base* const second = new large_derived;
  EXPECT_EQ(lane.statistics().large_blocks, 1u);
  delete second;
  EXPECT_EQ(lane.statistics().large_blocks, 0u);
  std::vector<std::unique_ptr<base>> mixed;
  for (int round = 0; round < 300; ++round) {
    mixed.push_back(round % 3 == 0 ? std::make_unique<base>() : std::make_unique<derived>());
  }
}

TEST_F(pooled_test, over_aligned_objects_are_aligned) {
  std::vector<std::unique_ptr<over_aligned>> objects;
  std::vector<std::unique_ptr<page_aligned>> others;
  for (int round = 0; round < 100; ++round) {
    objects.emplace_back(new over_aligned);
    others.emplace_back(new page_aligned);
    EXPECT_TRUE(tarn::base::is_aligned(objects.back().get(), 64));
    EXPECT_TRUE(tarn::base::is_aligned(others.back().get(), 4096));
    EXPECT_EQ(tarn::owner_of(others.back().get()), &lane);
  }
  auto* const array = new over_aligned[33];
  EXPECT_TRUE(tarn::base::is_aligned(array, 64));
  delete[] array;
  auto* const pages = new page_aligned[3];
  EXPECT_TRUE(tarn::base::is_aligned(pages, 4096));
  delete[] pages;
}

TEST_F(pooled_test, nothrow_forms_return_null) {
  delete new (std::nothrow) order;
  delete[] new (std::nothrow) order[10];
  delete new (std::nothrow) over_aligned;
  delete[] new (std::nothrow) over_aligned[10];
  tarn::heap tiny({.limit = 1_MiB});
  const tarn::scoped_current_heap use_tiny(tiny);
  EXPECT_EQ(new (std::nothrow) large_derived[10], nullptr);
  EXPECT_EQ(new (std::nothrow) page_aligned[300], nullptr);
}

TEST_F(pooled_test, without_memory_they_throw) {
  tarn::heap tiny({.limit = 1_MiB});
  const tarn::scoped_current_heap use_tiny(tiny);
  EXPECT_THROW(static_cast<void>(new large_derived[10]), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(new page_aligned[300]), std::bad_alloc);
  EXPECT_EQ(alive, 0);
  std::vector<std::unique_ptr<derived>> objects;
  EXPECT_THROW(
      for (;;) { objects.push_back(std::make_unique<derived>()); }, std::bad_alloc);
  EXPECT_GT(objects.size(), 1'000u);
}

TEST_F(pooled_test, placement_uses_the_place) {
  alignas(order) unsigned char storage[2 * sizeof(order)];
  auto* const single = new (storage) order;
  EXPECT_EQ(static_cast<void*>(single), storage);
  single->~order();
  alignas(order) unsigned char room[4 * sizeof(order) + 16];  // the compiler may store the count before the first
  auto* const array = new (room) order[4];
  EXPECT_GE(reinterpret_cast<unsigned char*>(array), room);
  EXPECT_LE(reinterpret_cast<unsigned char*>(array + 4), room + sizeof room);
  std::destroy_n(array, 4);
  EXPECT_EQ(bytes(), 0u);
}

TEST_F(pooled_test, a_throwing_constructor_gives_the_block_back) {
  EXPECT_THROW(static_cast<void>(new throwing(true)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(new (std::nothrow) throwing(true)), std::runtime_error);
  EXPECT_EQ(lane.statistics().allocated_blocks, 2u);
  EXPECT_EQ(bytes(), 0u);
  delete new throwing(false);
}

TEST_F(pooled_test, the_operators_can_be_called_by_hand) {
  order::operator delete(order::operator new(sizeof(order)), sizeof(order));
  order::operator delete[](order::operator new[](1'000), 1'000);
  constexpr auto wide = std::align_val_t{256};
  void* const first = order::operator new(300, wide);
  EXPECT_TRUE(tarn::base::is_aligned(first, 256));
  order::operator delete(first, 300, wide);
  order::operator delete[](order::operator new[](300, wide), 300, wide);
  order::operator delete(order::operator new(300, std::nothrow), std::nothrow);
  order::operator delete[](order::operator new[](300, std::nothrow), std::nothrow);
  order::operator delete(order::operator new(300, wide, std::nothrow), wide, std::nothrow);
  order::operator delete[](order::operator new[](300, wide, std::nothrow), wide, std::nothrow);
  order::operator delete(nullptr, sizeof(order));
  order::operator delete[](nullptr, 100);
  order::operator delete(nullptr, std::nothrow);
}

TEST_F(pooled_test, any_thread_may_delete) {
  std::vector<base*> polymorphic;
  for (int round = 0; round < 500; ++round) polymorphic.push_back(new derived);
  std::thread([&] {
    for (base* object : polymorphic) delete object;
    delete new order;  // its own order
    tarn::api::trim();
  }).join();
  static_cast<void>(lane.statistics());
  for (int round = 0; round < 50 && bytes() != 0; ++round) {  // refills collect
    std::vector<std::unique_ptr<derived>> objects(100);
    for (auto& object : objects) object = std::make_unique<derived>();
  }
  EXPECT_EQ(lane.statistics().remote_frees, 500u);
}

TEST_F(pooled_test, nothing_is_added_to_the_object) {
  struct plain {
    std::uint64_t numbers[3];
  };
  struct pooled_plain : tarn::pooled<pooled_plain> {
    std::uint64_t numbers[3];
  };
  static_assert(sizeof(pooled_plain) == sizeof(plain));
  static_assert(sizeof(tarn::pooled_value<int>) == sizeof(int));
  static_assert(sizeof(tarn::pooled_value<char>) == 1);
}

TEST_F(pooled_test, values_and_arrays_of_them_work_like_plain_ones) {
  auto* const value = new tarn::pooled_value<int>(41);
  EXPECT_EQ(tarn::owner_of(value), &lane);
  ++*value;
  EXPECT_EQ(*value, 42);
  int& contents = *value;
  contents = 5;
  EXPECT_EQ(value->get(), 5);
  *value = 6;
  const tarn::pooled_value<int>& constant = *value;
  EXPECT_EQ(constant.get() + constant, 12);
  delete value;

  auto* const row = new tarn::pooled_value<double>[1'000];
  EXPECT_EQ(tarn::owner_of(row), &lane);
  for (int column = 0; column < 1'000; ++column) {
    EXPECT_EQ(row[column], 0.0);
    row[column] = column;
  }
  double sum = 0;
  for (int column = 0; column < 1'000; ++column) sum += row[column];
  EXPECT_EQ(sum, 499'500.0);
  delete[] row;
  EXPECT_EQ(bytes(), 0u);

  auto* const text = new (std::nothrow) tarn::pooled_value<char>[100];
  EXPECT_EQ(bytes(), 112u);
  delete[] text;
  int target = 3;
  auto* const pointer = new tarn::pooled_value<int*>(&target);
  **pointer = 4;
  EXPECT_EQ(target, 4);
  delete pointer;
}

}  // namespace
}  // namespace front_tests
