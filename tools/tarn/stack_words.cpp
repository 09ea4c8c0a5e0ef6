#include "tarn/stack_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace tarn::command {
namespace {

constexpr std::size_t shown_frames = 4;

std::string short_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

void print_stack(const std::vector<analyse::place>& stack) {
  for (std::size_t at = 0; at < std::min(shown_frames, stack.size()); ++at) {
    const analyse::place& each = stack[at];
    const std::string where = each.file.empty() ? fmt::format("{}+{:#x}", short_name(each.module), each.offset)
                                                : fmt::format("{}:{}", short_name(each.file), each.line);
    fmt::print("   {} {} {}\n", at == 0 ? "at" : "by", where, each.function);
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
