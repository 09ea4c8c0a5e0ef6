#include "exports/frames.hpp"

#include <utility>

namespace tarn::exports {

std::uint32_t frames::number_of(frame one) {
  const auto [found, is_new] = known_.try_emplace({one.name, one.file, one.line}, all_.size());
  if (is_new) all_.push_back(std::move(one));
  return found->second;
}

const std::vector<std::uint32_t>& frames::of_location(std::uint32_t place) {
  std::vector<std::uint32_t>& numbers = of_location_[place];
  if (!numbers.empty()) return numbers;
  const std::vector<analyse::place>& lines = *profile_.locations()[place].lines;
  for (auto each = lines.rbegin(); each != lines.rend(); ++each) {
    numbers.push_back(number_of({frame_name(*each), each->file, each->line}));
  }
  return numbers;
}

std::vector<std::uint32_t> frames::of(const sample& one) {
  const auto [thread, is_new] = of_thread_.try_emplace(one.thread);
  if (is_new) thread->second = number_of({thread_name(profile_.recorded(), one.thread), {}, 0});
  std::vector<std::uint32_t> stack = {thread->second};
  const std::vector<std::uint32_t>& places = profile_.stacks()[one.site];
  for (auto each = places.rbegin(); each != places.rend(); ++each) {
    const std::vector<std::uint32_t>& here = of_location(*each);
    stack.insert(stack.end(), here.begin(), here.end());
  }
  if (places.empty()) stack.push_back(number_of({std::string(no_stack), {}, 0}));
  stack.push_back(number_of({leaf_name(one), {}, 0}));
  return stack;
}

}  // namespace tarn::exports
