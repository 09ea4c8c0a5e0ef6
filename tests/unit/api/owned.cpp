// Strings and containers that keep to one heap: a request's changes to a shared object must not end with the request.
#include <tarn/owned.hpp>

#include <memory>
#include <string>
#include <utility>

#include "front_fixture.hpp"

namespace front_tests {
namespace {

using tarn::owned_string;
using tarn::owned_vector;

constexpr const char* long_text = "a text that is too long for the small buffer of a string";

tarn::heap* home_of(const owned_string& text) { return &text.get_allocator().home(); }

class owned_types : public front_test {
 protected:
  void TearDown() override {
    lane_.reset();  // including its pending remote frees
    front_test::TearDown();
  }

 private:
  std::unique_ptr<tarn::heap> lane_ = std::make_unique<tarn::heap>(tarn::heap_options{.name = "lane"});

 protected:
  tarn::heap& lane = *lane_;
};

TEST_F(owned_types, the_heap_is_the_one_that_was_current) {
  const owned_string own_text(long_text);
  EXPECT_EQ(home_of(own_text), &tarn::current_heap());
  const tarn::scoped_current_heap use(lane);
  const owned_string copy(long_text);
  EXPECT_EQ(home_of(copy), &lane);
  EXPECT_EQ(tarn::owner_of(copy.data()), &lane);
  EXPECT_NE(tarn::owner_of(own_text.data()), &lane);
}

struct session {
  owned_string name{tarn::process_heap()};
  owned_vector<owned_string> items{tarn::process_heap()};
};

// The main use of owned types.
TEST_F(owned_types, a_shared_object_survives_the_request) {
  session shared;
  {
    const tarn::scoped_current_heap use(lane);
    const owned_string typed = long_text;
    shared.name = typed;
    shared.items.push_back(typed);
    shared.items.emplace_back(std::string(100, 'x'));
    shared.items.back() += typed;
    for (int number = 0; number < 20; ++number) {
      shared.items.push_back(owned_string(long_text));
      shared.name += long_text;
    }
  }
  lane.release();
  EXPECT_EQ(shared.name.substr(0, 6), "a text");
  EXPECT_EQ(shared.items.at(1).size(), 100 + std::string_view(long_text).size());
  EXPECT_EQ(tarn::owner_of(shared.name.data()), &tarn::process_heap());
  EXPECT_EQ(tarn::owner_of(shared.items.data()), &tarn::process_heap());
  for (const owned_string& item : shared.items) {
    EXPECT_EQ(home_of(item), &tarn::process_heap());
    EXPECT_EQ(tarn::owner_of(item.data()), &tarn::process_heap());
  }
}

TEST_F(owned_types, copies_and_moves_keep_to_their_heaps) {
  owned_string original(long_text, lane);
  const owned_string copy(original);
  EXPECT_EQ(home_of(copy), &tarn::current_heap()) << "a copy is the copier's";
  const char* const buffer = original.data();
  owned_string moved(std::move(original));
  EXPECT_EQ(home_of(moved), &lane);
  EXPECT_EQ(moved.data(), buffer) << "a move takes the buffer";
  owned_string target(tarn::process_heap());
  target = std::move(moved);
  EXPECT_EQ(home_of(target), &tarn::process_heap());
  EXPECT_EQ(tarn::owner_of(target.data()), &tarn::process_heap());
  owned_string target_in_lane(lane), source(long_text, lane);
  const char* const moved_buffer = source.data();
  target_in_lane = std::move(source);
  EXPECT_EQ(target_in_lane.data(), moved_buffer) << "within one heap the buffer moves";
  swap(target_in_lane, target);
  EXPECT_EQ(home_of(target_in_lane), &tarn::process_heap());
  EXPECT_EQ(target_in_lane, long_text);
  EXPECT_EQ(tarn::owner_of(target.data()), &lane);
}

// Another heap is current: data of the thread still comes from the thread's own heap.
TEST_F(owned_types, stays_in_the_threads_own_heap_under_another) {
  owned_string own_text("x");
  const tarn::heap* const own_heap = &tarn::current_heap();
  const tarn::scoped_current_heap use(lane);
  own_text += long_text;
  EXPECT_EQ(tarn::owner_of(own_text.data()), own_heap);
}

TEST_F(owned_types, a_thread_grows_in_its_own_heap_what_came_from_another) {
  worker first, second;
  auto text = std::make_unique<owned_string>();
  tarn::heap *first_heap = nullptr, *second_heap = nullptr;
  first.run([&] {
    first_heap = &tarn::current_heap();
    text = std::make_unique<owned_string>(long_text);
  });
  EXPECT_EQ(tarn::owner_of(text->data()), first_heap);
  second.run([&] {
    *text += long_text;  // before this thread has a heap
    second_heap = &tarn::current_heap();
  });
  EXPECT_EQ(tarn::owner_of(text->data()), second_heap);
  first.end();
  *text += long_text;
  EXPECT_EQ(tarn::owner_of(text->data()), &tarn::current_heap());
  second.run([&] { text.reset(); });
  second.end();
  settle();
}

TEST_F(owned_types, any_thread_grows_what_is_the_processes) {
  owned_string text(tarn::process_heap());
  worker first, two;
  for (int round = 0; round < 10; ++round) {
    (round % 2 == 0 ? first : two).run([&] { text += long_text; });
    EXPECT_EQ(tarn::owner_of(text.data()), &tarn::process_heap());
  }
}

TEST_F(owned_types, throws_without_memory_and_for_absurd_sizes) {
  tarn::heap small({.limit = 1 << 20});
  owned_string text(small);
  EXPECT_THROW(text.assign(4 << 20, 'x'), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(tarn::owned_allocator<long>(small).allocate(static_cast<std::size_t>(-1) / 8)),
               std::bad_alloc);
  text.assign(1000, 'x');
  EXPECT_EQ(tarn::owner_of(text.data()), &small);
}

}  // namespace
}  // namespace front_tests
