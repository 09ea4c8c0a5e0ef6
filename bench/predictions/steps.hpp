// A drawing program's history: commands of two classes are done, kept, undone in bunches, and dropped beyond a depth.
// Remedy: pooled commands.
#pragma once
#include <deque>
#include <memory>
#include <type_traits>
#include <vector>

#include <tarn/pooled.hpp>
#include "predictions/work.hpp"

namespace predictions::steps {

struct plain {};
using canvas = std::vector<std::uint32_t>;

template <bool Pooled>
struct command {
  virtual ~command() = default;
  virtual void apply(canvas& target) = 0;
  virtual void undo(canvas& target) = 0;
};
template <class T, bool Pooled>
using served = std::conditional_t<Pooled, tarn::pooled<T>, plain>;

template <bool Pooled>
struct dot final : command<Pooled>, served<dot<Pooled>, Pooled> {
  dot(std::uint32_t position_, std::uint32_t color_) : position(position_), color(color_) {}
  void apply(canvas& target) override { std::swap(target[position], color); }
  void undo(canvas& target) override { std::swap(target[position], color); }
  std::uint32_t position, color;
};
template <bool Pooled>
struct stroke final : command<Pooled>, served<stroke<Pooled>, Pooled> {
  stroke(std::uint32_t first_, std::uint32_t color_) : first(first_) {
    for (std::uint32_t& color : colors) color = color_;
  }
  void apply(canvas& target) override {
    for (std::uint32_t step = 0; step < 24; ++step) std::swap(target[first + step], colors[step]);
  }
  void undo(canvas& target) override { apply(target); }
  std::uint32_t first, colors[24];
};

template <bool Pooled>
[[gnu::noinline]] std::unique_ptr<command<Pooled>> make_command(numbers& random) {
  const std::uint32_t position = random.below(4000), color = random.below(1 << 24);
  if (random.below(4) == 0) return std::make_unique<stroke<Pooled>>(position, color);
  return std::make_unique<dot<Pooled>>(position, color);
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  canvas drawing(4096);
  std::deque<std::unique_ptr<command<Pooled>>> done;
  for (std::uint64_t round = 0; round < rounds * 100; ++round) {
    for (std::uint32_t steps_left = random.below(20); steps_left > 0; --steps_left) {
      done.push_back(make_command<Pooled>(random));
      done.back()->apply(drawing);
      if (done.size() > 1000) done.pop_front();
    }
    for (std::uint32_t back = random.below(16); back > 0 && !done.empty(); --back) {
      done.back()->undo(drawing);
      done.pop_back();
    }
  }
  std::uint64_t sum = 0;
  for (const std::uint32_t color : drawing) sum = sum * 31 + color;
  return sum;
}

}  // namespace predictions::steps
