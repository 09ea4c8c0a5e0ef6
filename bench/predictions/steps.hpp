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
  virtual void apply(canvas& to) = 0;
  virtual void undo(canvas& to) = 0;
};
template <class T, bool Pooled>
using served = std::conditional_t<Pooled, tarn::pooled<T>, plain>;

template <bool Pooled>
struct dot final : command<Pooled>, served<dot<Pooled>, Pooled> {
  dot(std::uint32_t where, std::uint32_t what) : at(where), color(what) {}
  void apply(canvas& to) override { std::swap(to[at], color); }
  void undo(canvas& to) override { std::swap(to[at], color); }
  std::uint32_t at, color;
};
template <bool Pooled>
struct stroke final : command<Pooled>, served<stroke<Pooled>, Pooled> {
  stroke(std::uint32_t where, std::uint32_t what) : at(where) {
    for (std::uint32_t& each : colors) each = what;
  }
  void apply(canvas& to) override {
    for (std::uint32_t step = 0; step < 24; ++step) std::swap(to[at + step], colors[step]);
  }
  void undo(canvas& to) override { apply(to); }
  std::uint32_t at, colors[24];
};

template <bool Pooled>
[[gnu::noinline]] std::unique_ptr<command<Pooled>> make_command(numbers& random) {
  const std::uint32_t at = random.below(4000), color = random.below(1 << 24);
  if (random.below(4) == 0) return std::make_unique<stroke<Pooled>>(at, color);
  return std::make_unique<dot<Pooled>>(at, color);
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  canvas drawing(4096);
  std::deque<std::unique_ptr<command<Pooled>>> done;
  for (std::uint64_t round = 0; round < rounds * 100; ++round) {
    for (std::uint32_t more = random.below(20); more > 0; --more) {
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
  for (const std::uint32_t each : drawing) sum = sum * 31 + each;
  return sum;
}

}  // namespace predictions::steps
