// A simulation in steps: each makes a tree of squares over moving points, asks it for neighbours, and drops it.
// Remedy: pooled squares.
#pragma once
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>
#include <vector>

#include <tarn/pooled.hpp>
#include "predictions/work.hpp"

namespace predictions::frames {

struct plain {};
struct point {
  double x, y, dx, dy;
};

template <bool Pooled>
struct square : std::conditional_t<Pooled, tarn::pooled<square<Pooled>>, plain> {
  double x, y, half;
  std::array<const point*, 4> points = {};
  std::size_t count = 0;
  std::array<std::unique_ptr<square>, 4> parts;

  square(double of_x, double of_y, double of_half) : x(of_x), y(of_y), half(of_half) {}

  [[gnu::noinline]] void divide() {
    const double next = half / 2;
    for (std::size_t at = 0; at < 4; ++at)
      parts[at] = std::make_unique<square>(x + (at % 2 != 0 ? next : -next), y + (at / 2 != 0 ? next : -next), next);
  }
  void add(const point& one) {
    if (parts[0] == nullptr && (count < points.size() || half < 1e-6)) {
      if (count < points.size()) points[count++] = &one;
      return;
    }
    if (parts[0] == nullptr) divide();
    parts[(one.x > x ? 1U : 0U) + (one.y > y ? 2U : 0U)]->add(one);
  }
  double near(const point& one, double reach) const {
    if (std::abs(one.x - x) > half + reach || std::abs(one.y - y) > half + reach) return 0;
    double sum = 0;
    for (std::size_t at = 0; at < count; ++at) {
      const double distance = std::hypot(points[at]->x - one.x, points[at]->y - one.y);
      if (distance < reach) sum += reach - distance;
    }
    if (parts[0] != nullptr) {
      for (const auto& each : parts) sum += each->near(one, reach);
    }
    return sum;
  }
};

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  const auto fraction = [&] { return random.below(1 << 30) / static_cast<double>(1 << 30); };
  std::vector<point> points;
  for (int each = 0; each < 800; ++each) points.push_back({fraction(), fraction(), fraction() - .5, fraction() - .5});
  double sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    square<Pooled> all(.5, .5, .5);
    for (const point& each : points) all.add(each);
    for (std::size_t at = 0; at < points.size(); at += 16) sum += all.near(points[at], .02);
    for (point& each : points) {
      each.x += each.dx * .01;
      each.y += each.dy * .01;
      if (each.x < 0 || each.x > 1) each.dx = -each.dx;
      if (each.y < 0 || each.y > 1) each.dy = -each.dy;
    }
  }
  return static_cast<std::uint64_t>(sum * 1e6);
}

}  // namespace predictions::frames
