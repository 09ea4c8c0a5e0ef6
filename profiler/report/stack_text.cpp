#include "profiler/report/stack_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

constexpr std::size_t shown_frames = 4;  // counted from the first that is not the C library's

}  // namespace

std::size_t caller_index(const std::vector<analyse::code_location>& stack) {
  std::size_t index = analyse::own_frame_index(stack) + 1;
  while (index < stack.size() && analyse::is_runtime_code(stack[index])) ++index;
  return std::min(index, stack.size());
}

void print_stack(analyse::analysis& analysis, std::uint32_t site) {
  const std::vector<analyse::code_location> stack = analysis.stack(site);
  const std::size_t first = analyse::own_frame_index(stack);
  std::size_t printed_frames = 0;
  for (std::size_t index = first; index < stack.size() && printed_frames < shown_frames; ++index) {
    if (index != first && analyse::is_runtime_code(stack[index])) continue;  // such as the code that starts a thread
    fmt::print("   {} {}\n", index == first ? "at" : "by", location_text(stack[index], text_width - 6));
    ++printed_frames;
  }
  if (stack.empty()) fmt::print("   at sites beyond the recorder's limit\n");
}

nlohmann::json json_of_location(const analyse::code_location& location) {
  return {{"function", location.function},
          {"file", location.file},
          {"line", location.line},
          {"module", location.module},
          {"offset", location.offset}};
}

nlohmann::json json_of_stack(analyse::analysis& analysis, std::uint32_t site) {
  nlohmann::json frames = nlohmann::json::array();
  for (const analyse::code_location& location : analysis.stack(site)) frames.push_back(json_of_location(location));
  return frames;
}

}  // namespace tarn::command
