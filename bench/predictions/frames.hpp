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
    for (std::size_t index = 0; index < 4; ++index)
      parts[index] =
          std::make_unique<square>(x + (index % 2 != 0 ? next : -next), y + (index / 2 != 0 ? next : -next), next);
  }
  void add(const point& added) {
    if (parts[0] == nullptr && (count < points.size() || half < 1e-6)) {
      if (count < points.size()) points[count++] = &added;
      return;
    }
    if (parts[0] == nullptr) divide();
    parts[(added.x > x ? 1U : 0U) + (added.y > y ? 2U : 0U)]->add(added);
  }
  double near(const point& center, double reach) const {
    if (std::abs(center.x - x) > half + reach || std::abs(center.y - y) > half + reach) return 0;
    double sum = 0;
    for (std::size_t index = 0; index < count; ++index) {
      const double distance = std::hypot(points[index]->x - center.x, points[index]->y - center.y);
      if (distance < reach) sum += reach - distance;
    }
    if (parts[0] != nullptr) {
      for (const auto& part : parts) sum += part->near(center, reach);
    }
    return sum;
  }
};

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  const auto fraction = [&] { return random.below(1 << 30) / static_cast<double>(1 << 30); };
  std::vector<point> points;
  for (int number = 0; number < 800; ++number)
    points.push_back({fraction(), fraction(), fraction() - .5, fraction() - .5});
  double sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    square<Pooled> whole(.5, .5, .5);
    for (const point& added : points) whole.add(added);
    for (std::size_t index = 0; index < points.size(); index += 16) sum += whole.near(points[index], .02);
    for (point& moved : points) {
      moved.x += moved.dx * .01;
      moved.y += moved.dy * .01;
      if (moved.x < 0 || moved.x > 1) moved.dx = -moved.dx;
      if (moved.y < 0 || moved.y > 1) moved.dy = -moved.dy;
    }
  }
  return static_cast<std::uint64_t>(sum * 1e6);
}

}  // namespace predictions::frames
