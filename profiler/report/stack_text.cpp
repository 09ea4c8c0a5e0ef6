#include "profiler/report/stack_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "profiler/findings/stacks.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

constexpr std::size_t shown_frames = 4;  // counted from the first that is not the C library's

}  // namespace

void print_stack(const std::vector<analyse::code_location>& stack) {
  const std::size_t first = analyse::own_frame_index(stack);
  for (std::size_t index = first; index < std::min(first + shown_frames, stack.size()); ++index) {
    fmt::print("   {} {}\n", index == first ? "at" : "by", place_text(stack[index], text_width - 6));
  }
  if (stack.empty()) fmt::print("   at sites beyond the recorder's limit\n");
}

nlohmann::json json_of_stack(const std::vector<analyse::code_location>& stack) {
  nlohmann::json frames = nlohmann::json::array();
  for (const analyse::code_location& place : stack) {
    frames.push_back({{"function", place.function},
                      {"file", place.file},
                      {"line", place.line},
                      {"module", place.module},
                      {"offset", place.offset}});
  }
  return frames;
}

}  // namespace tarn::command
