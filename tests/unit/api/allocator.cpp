// tarn::allocator under the standard containers.
#include <tarn/allocator.hpp>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "front_fixture.hpp"

namespace front_tests {
namespace {

template <class T>
using list = std::list<T, tarn::allocator<T>>;
template <class T>
using vector = std::vector<T, tarn::allocator<T>>;
using string = std::basic_string<char, std::char_traits<char>, tarn::allocator<char>>;

class allocator_test : public front_test {
 protected:
  tarn::heap lane{{.name = "lane", .counts_calls = true}};
};

static_assert(std::allocator_traits<tarn::allocator<int>>::is_always_equal::value);
static_assert(std::is_empty_v<tarn::allocator<int>>);

TEST_F(allocator_test, serves_containers_of_every_kind) {
  {
    const tarn::scoped_current_heap use(lane);
    list<int> numbers;
    vector<string> lines;
    std::deque<int, tarn::allocator<int>> queue;
    std::map<int, int, std::less<>, tarn::allocator<std::pair<const int, int>>> tree;
    std::unordered_map<int, string, std::hash<int>, std::equal_to<>, tarn::allocator<std::pair<const int, string>>>
        hashed;
    for (int round = 0; round < 2'000; ++round) {
      numbers.push_back(round);
      lines.emplace_back(static_cast<std::size_t>(round % 300), 'x');
      queue.push_front(round);
      tree[round * 7 % 501] += round;
      hashed[round % 97] += "more";
      if (round % 3 == 0) {
        numbers.pop_front();
        queue.pop_back();
      }
    }
    EXPECT_EQ(numbers.size(), 1'333u);
    EXPECT_EQ(lines[299].size(), 299u);
    EXPECT_EQ(tarn::owner_of(&numbers.front()), &lane);
    EXPECT_EQ(tarn::owner_of(lines.data()), &lane);
    EXPECT_EQ(tarn::owner_of(&tree.begin()->first), &lane);
    EXPECT_TRUE(lane.is_valid());
  }
  EXPECT_EQ(lane.statistics().allocated_blocks, lane.statistics().freed_blocks);
  EXPECT_EQ(lane.statistics().allocated_bytes, lane.statistics().freed_bytes);
}

TEST_F(allocator_test, all_instances_are_equal_so_containers_may_swap_heaps) {
  list<int> outside(100, 1);
  {
    const tarn::scoped_current_heap use(lane);
    list<int> inner(100, 2);
    inner.swap(outside);
    outside.splice(outside.end(), inner);
  }
  EXPECT_EQ(outside.size(), 200u);
  outside.clear();  // half of it belongs to the lane
}

TEST_F(allocator_test, over_aligned_elements_are_aligned) {
  struct alignas(128) wide {
    char bytes[128];
  };
  vector<wide> elements(50);
  EXPECT_TRUE(tarn::base::is_aligned(elements.data(), 128));
  list<wide> others(50);
  for (const wide& element : others) EXPECT_TRUE(tarn::base::is_aligned(&element, 128));
}

TEST_F(allocator_test, absurd_counts_throw) {
  tarn::allocator<std::uint64_t> allocator;
  for (const std::size_t count : {~std::size_t{0}, ~std::size_t{0} / 8 + 1, std::size_t{1} << 60,
                                  (std::size_t{1} << 60) - 1, std::size_t{1} << 57}) {
    EXPECT_THROW(static_cast<void>(allocator.allocate(count)), std::bad_alloc) << count;
  }
  allocator.deallocate(allocator.allocate(0), 0);
}

TEST_F(allocator_test, the_limit_of_a_heap_throws) {
  tarn::heap tiny({.limit = 1_MiB});
  const tarn::scoped_current_heap use(tiny);
  list<int> numbers;
  EXPECT_THROW(
      for (;;) { numbers.push_back(1); }, std::bad_alloc);
  EXPECT_GT(numbers.size(), 10'000u);
}

TEST_F(allocator_test, serves_allocate_shared) {
  const auto shared = std::allocate_shared<string>(tarn::allocator<string>(), 100u, 'y');
  EXPECT_EQ(tarn::owner_of(shared.get()), &tarn::current_heap());
  std::thread([copy = shared]() mutable { copy.reset(); }).join();
}

TEST_F(allocator_test, a_container_may_change_threads) {
  vector<list<string>> containers(4);
  for (int round = 0; round < 8; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < containers.size(); ++thread) {
      threads.emplace_back(
          [&own_container = containers[(thread + static_cast<std::size_t>(round)) % containers.size()]] {
            for (int line = 0; line < 200; ++line) {
              own_container.emplace_back(static_cast<std::size_t>(line), 'z');
              if (own_container.size() > 300) own_container.pop_front();
            }
          });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const list<string>& lines : containers) {
    for (const string& line : lines) EXPECT_EQ(line.find_first_not_of('z'), string::npos);
  }
}

}  // namespace
}  // namespace front_tests
