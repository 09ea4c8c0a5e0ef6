#include <tarn/object_cache.hpp>

#include <gtest/gtest.h>

#include <list>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/child.hpp"

namespace {

struct counted_object {
  counted_object() { ++alive, ++constructed; }
  counted_object(const counted_object&) = delete;
  counted_object& operator=(const counted_object&) = delete;
  ~counted_object() { --alive; }
  void clear() { ++cleared; }
  static inline int alive = 0, constructed = 0, cleared = 0;
};

struct parser {
  std::string text = "as new";
  int uses = 0;
};

struct stingy {};

struct unlucky {
  unlucky() {
    if (must_fail) throw std::runtime_error("no");
  }
  void clear() {}
  static inline bool must_fail = false;
};

}  // namespace

template <>
struct tarn::recycling<parser> : tarn::default_recycling<parser> {
  static constexpr std::size_t max_objects = 2;
  static void reset(parser& object) noexcept { ++object.uses; }
  static std::size_t bytes(const parser& object) noexcept { return object.text.size(); }
};

template <>
struct tarn::recycling<stingy> : tarn::default_recycling<stingy> {
  static constexpr std::size_t max_objects = 0;
  static void reset(stingy&) noexcept {}
};

template <>
struct tarn::recycling<std::ostringstream> : tarn::default_recycling<std::ostringstream> {
  static void reset(std::ostringstream& stream) noexcept {
    stream.str({});
    stream.clear();
  }
};

namespace {

TEST(object_cache, a_string_keeps_its_capacity) {
  tarn::object_cache<std::string> lines;
  const char* before;
  {
    auto line = lines.take();
    line->assign(1000, 'x');
    before = line->data();
  }
  EXPECT_EQ(lines.size(), 1u);
  const auto line = lines.take();
  EXPECT_TRUE(line->empty());
  EXPECT_GE(line->capacity(), 1000u);
  EXPECT_EQ(line->data(), before);
}

TEST(object_cache, keeps_so_many_and_no_more) {
  {
    tarn::object_cache<counted_object> cache;
    {
      std::vector<tarn::object_cache<counted_object>::handle> handles;
      for (int number = 0; number < 40; ++number) handles.push_back(cache.take());
      EXPECT_EQ(counted_object::alive, 40);
    }
    EXPECT_EQ(counted_object::alive, 16);
    EXPECT_EQ(cache.size(), 16u);
    const int constructed_before = counted_object::constructed;
    for (int number = 0; number < 100; ++number) {
      const auto first = cache.take();
      const auto second = cache.take();
      EXPECT_NE(first.get(), second.get());
    }
    EXPECT_EQ(counted_object::constructed, constructed_before);
    cache.clear();
    EXPECT_EQ(counted_object::alive, 0);
    static_cast<void>(cache.take());
  }
  EXPECT_EQ(counted_object::alive, 0);
}

TEST(object_cache, one_huge_object_is_not_for_ever) {
  tarn::object_cache<std::string> lines;
  lines.take()->reserve(64 * 1024);
  EXPECT_EQ(lines.size(), 1u) << "as much as is allowed";
  lines.take()->reserve(64 * 1024 + 1);
  EXPECT_EQ(lines.size(), 0u);
  tarn::object_cache<std::vector<double>> rows;
  rows.take()->reserve(8192);
  EXPECT_EQ(rows.size(), 1u);
  rows.take()->reserve(8193);
  EXPECT_EQ(rows.size(), 0u) << "bytes, not elements";
}

TEST(object_cache, follows_a_policy_of_its_own) {
  tarn::object_cache<parser> parsers;
  parsers.take()->text = "kept";
  {
    const auto first = parsers.take(), two = parsers.take(), three = parsers.take();
    EXPECT_EQ(first->text, "kept");
    EXPECT_EQ(first->uses, 1);
    EXPECT_EQ(two->text, "as new");
  }
  EXPECT_EQ(parsers.size(), 2u);
  parsers.clear();
  parsers.take()->text.assign(70'000, 'x');
  EXPECT_EQ(parsers.size(), 0u);
  tarn::object_cache<stingy> nothing;
  { const auto first = nothing.take(), two = nothing.take(); }
  EXPECT_EQ(nothing.size(), 0u);
  tarn::object_cache<std::ostringstream> streams;
  *streams.take() << "text";
  EXPECT_EQ(streams.take()->str(), "");
  tarn::object_cache<std::list<int>> lists;
  lists.take()->push_back(1);
  EXPECT_TRUE(lists.take()->empty());
}

TEST(object_cache, handles_move) {
  counted_object::cleared = 0;
  tarn::object_cache<counted_object> cache;
  {
    auto first = cache.take();
    counted_object* const object = first.get();
    auto two = std::move(first);
    EXPECT_FALSE(first);  // NOLINT: the promise is an empty handle
    EXPECT_EQ(two.get(), object);
    auto three = cache.take();
    three = std::move(two);
    EXPECT_EQ(three.get(), object);
    EXPECT_EQ(counted_object::cleared, 1) << "what it held went back";
    auto& itself = three;
    three = std::move(itself);
    EXPECT_EQ(three.get(), object) << "assigned to itself";
  }
  EXPECT_EQ(counted_object::cleared, 2);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(object_cache, a_constructor_that_throws_changes_nothing) {
  tarn::object_cache<unlucky> cache;
  unlucky::must_fail = true;
  EXPECT_THROW(static_cast<void>(cache.take()), std::runtime_error);
  unlucky::must_fail = false;
  static_cast<void>(cache.take());
  unlucky::must_fail = true;
  static_cast<void>(cache.take());  // a warm one
  EXPECT_EQ(cache.size(), 1u);
}

TEST(object_cache, ending_before_what_it_gave_is_a_fault) {
  std::optional<tarn::object_cache<std::string>> lines(std::in_place);
  const std::string cache = support::written(&*lines);
  EXPECT_EQ(support::in_child([&] {
              const auto first = lines->take(), two = lines->take();
              lines.reset();
            }),
            support::fault("tarn: object cache at " + cache + " ends while 2 of its objects are in use",
                           "destroy the handles that take() returned before their cache"));
}

}  // namespace
