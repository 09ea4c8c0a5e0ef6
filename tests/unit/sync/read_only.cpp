// Tests objects that are built once and then deeply const.
#include <tarn/read_only.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"

namespace {

using support::fault;
using support::in_child;
using support::written;
using tarn::is_deeply_const;

// --- What is deeply const -------------------------------------------------------------------------------------------

struct plain {
  int a;
  double b;
  std::string c;
  std::vector<std::string> d;
  std::map<std::string, int> e;
  long f[8];
  bool (*g)(int);
  std::chrono::milliseconds h;
};
struct to_const {
  const int* a;
  std::shared_ptr<const plain> b;
  const char* c;
};
struct through_deep {
  tarn::propagate_const<std::unique_ptr<int>> a;
  tarn::propagate_const<plain*> b;
};
struct tree {
  int a;
  const tree* parent;
  std::vector<tree> children;
};
struct pointer {
  int* a;
};
struct owner {
  std::unique_ptr<int> a;
};
struct with_mutable {
  int a;
  mutable int b;
};
struct with_reference {
  int& a;
};
struct graph {
  int a;
  std::vector<graph*> edges;
};
struct deep_members {
  plain a;
  pointer b;
};
struct seventeen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
struct many_members {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
  int aa, bb, cc, dd, ee, ff, gg, hh, ii, jj, kk, ll, mm, nn, oo, pp, qq, rr, ss, tt, uu, vv, ww, xx, yy, zz;
  int a1, b1, c1, d1, e1, f1, g1, h1, i1, j1, k1, l1, m1;
};
class closed {
 public:
  int value() const { return value_; }

 private:
  int value_ = 0;
};
class specialised : public closed {};

static_assert(is_deeply_const<plain>);
static_assert(is_deeply_const<to_const>);
static_assert(is_deeply_const<through_deep>);
static_assert(is_deeply_const<tree>);
static_assert(is_deeply_const<std::filesystem::path>);
static_assert(is_deeply_const<std::vector<std::pair<std::string, std::optional<std::tuple<int, char>>>>>);
static_assert(is_deeply_const<std::variant<std::monostate, std::string_view>>);
static_assert(!is_deeply_const<pointer>);
static_assert(!is_deeply_const<owner>);
static_assert(!is_deeply_const<with_mutable>);
static_assert(!is_deeply_const<graph>);
static_assert(!is_deeply_const<deep_members>);
static_assert(is_deeply_const<seventeen>);
static_assert(!is_deeply_const<many_members>, "a compiler cannot count them");
static_assert(!is_deeply_const<closed>, "nobody can see it");
static_assert(!is_deeply_const<std::function<int()>>);
static_assert(!is_deeply_const<std::vector<std::unique_ptr<int>>>);
static_assert(!is_deeply_const<std::shared_ptr<std::string>>);

}  // namespace

template <>
struct tarn::deeply_const<specialised> : std::true_type {};

namespace {

static_assert(is_deeply_const<std::vector<specialised>>);

TEST(deep, gives_const_through_const) {
  through_deep object{std::make_unique<int>(1), nullptr};
  *object.a = 2;
  const through_deep& view = object;
  static_assert(std::is_same_v<decltype(*view.a), const int&>);
  static_assert(std::is_same_v<decltype(view.b.operator->()), const plain*>);
  EXPECT_EQ(*view.a, 2);
  EXPECT_FALSE(view.b);
}

// --- read_only ------------------------------------------------------------------------------------------------------

struct config {
  explicit config(int n) : value(n) {
    if (n < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  config(config&& source) noexcept : value(source.value) { ++alive; }
  ~config() { --alive; }
  int value;
  static inline int alive = 0;
};

}  // namespace

template <>
struct tarn::deeply_const<config> : std::true_type {};

namespace {

TEST(read_only, is_built_once_and_read) {
  {
    tarn::read_only<config> settings;
    EXPECT_FALSE(settings.is_built());
    EXPECT_EQ(config::alive, 0);
    EXPECT_THROW(settings.build(config(-1)), std::invalid_argument);
    EXPECT_FALSE(settings.is_built());
    settings.build(config(7));
    EXPECT_TRUE(settings.is_built());
    EXPECT_EQ(config::alive, 1);
    const tarn::work_phase from_here_on;
    std::thread([&] { EXPECT_EQ(settings->value, 7); }).join();
    static_assert(std::is_same_v<decltype(*settings), const config&>);
  }
  EXPECT_EQ(config::alive, 0);
}

TEST(read_only, is_filled_in_place) {
  tarn::read_only<std::map<std::string, int>> ports;
  ports.build_with([](auto& map) { map["http"] = 80; });
  EXPECT_EQ(ports->at("http"), 80);
  tarn::read_only<std::vector<int>> primes;
  EXPECT_THROW(primes.build_with([](auto&) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_FALSE(primes.is_built());
}

TEST(read_only, misuses_are_named) {
  tarn::read_only<config> settings;
  const std::string start = "tarn: read-only object at " + written(&settings);
  const auto unbuilt = in_child([&] { return settings->value; });
  EXPECT_EQ(unbuilt, fault(start + " is read before it is built: call build() before the first read"));
  const unsigned line = __LINE__;
  const auto twice = in_child([&] {
    settings.build(config(1));
    settings.build(config(2));
  });
  const auto late_build = in_child([&] {
    const tarn::work_phase from_here_on;
    settings.build(config(1));
  });
  const auto second_region = in_child([&] {
    const tarn::work_phase from_here_on;
    const tarn::work_phase and_here;
  });
  const auto at_line = [](unsigned number) { return " read_only.cpp:" + std::to_string(number); };
  EXPECT_EQ(twice, fault(start + " is built again at" + at_line(line + 3) + "; it was built at" + at_line(line + 2) +
                         ": build it once, or make it tarn::reloadable"));
  EXPECT_EQ(late_build, fault(start + " is built at" + at_line(line + 7) + " while workers run, since" +
                              at_line(line + 6) + ": build it before them, or make it tarn::reloadable"));
  EXPECT_EQ(second_region,
            fault("tarn: a tarn::application or tarn::work_phase begins at" + at_line(line + 11) +
                  " while another one lives, since" + at_line(line + 10) + ": a process may have one at a time"));
}

TEST(read_only, may_be_built_between_two_times_of_work) {
  { const tarn::work_phase first; }
  EXPECT_FALSE(tarn::work_phase::is_running());
  tarn::read_only<config> settings;
  settings.build(config(1));
  const tarn::work_phase second;
  EXPECT_TRUE(tarn::work_phase::is_running());
}

}  // namespace
