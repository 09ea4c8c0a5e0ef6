#include "profiler/export/frames.hpp"

#include <utility>

namespace tarn::exports {

std::uint32_t frames::number_of(frame frame) {
  const auto [number, is_new] = numbers_.try_emplace({frame.name, frame.file, frame.line}, list_.size());
  if (is_new) list_.push_back(std::move(frame));
  return number->second;
}

const std::vector<std::uint32_t>& frames::of_location(std::uint32_t index) {
  std::vector<std::uint32_t>& numbers = of_location_[index];
  if (!numbers.empty()) return numbers;
  const std::vector<analyse::code_location>& lines = *profile_.locations()[index].lines;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    numbers.push_back(number_of({frame_name(*line), line->file, line->line}));
  }
  return numbers;
}

std::vector<std::uint32_t> frames::stack_of(const sample& sample) {
  const auto [thread, is_new] = of_thread_.try_emplace(sample.thread);
  if (is_new) thread->second = number_of({thread_name(profile_.recording(), sample.thread), {}, 0});
  std::vector<std::uint32_t> stack = {thread->second};
  const std::vector<std::uint32_t>& locations = profile_.stacks()[sample.site];
  for (auto index = locations.rbegin(); index != locations.rend(); ++index) {
    const std::vector<std::uint32_t>& numbers = of_location(*index);
    stack.insert(stack.end(), numbers.begin(), numbers.end());
  }
  if (locations.empty()) stack.push_back(number_of({std::string(no_stack), {}, 0}));
  stack.push_back(number_of({leaf_name(sample), {}, 0}));
  return stack;
}

}  // namespace tarn::exports
