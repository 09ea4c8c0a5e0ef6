#include "tarn/stack_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "analyse/stacks.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

constexpr std::size_t shown_frames = 4;  // counted from the first that is not the C library's

}  // namespace

void print_stack(const std::vector<analyse::place>& stack) {
  const std::size_t own = analyse::own_place(stack);
  for (std::size_t at = own; at < std::min(own + shown_frames, stack.size()); ++at) {
    fmt::print("   {} {}\n", at == own ? "at" : "by", place_words(stack[at], page_width - 6));
  }
  if (stack.empty()) fmt::print("   at sites beyond the recorder's limit\n");
}

nlohmann::json json_of_stack(const std::vector<analyse::place>& stack) {
  nlohmann::json all = nlohmann::json::array();
  for (const analyse::place& at : stack) {
    all.push_back({{"function", at.function},
                   {"file", at.file},
                   {"line", at.line},
                   {"module", at.module},
                   {"offset", at.offset}});
  }
  return all;
}

}  // namespace tarn::command
