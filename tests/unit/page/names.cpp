#include "profiler/report/html/names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tarn::command {
namespace {

using analyse::code_location;
using nlohmann::json;

const code_location allocate{"allocate()", "/home/me/make.cpp", 7, "/home/me/program", 0x10};
const code_location serve{"serve(int)", "/home/me/serve.cpp", 8, "/home/me/program", 0x20};
const code_location begin{"main", "/home/me/main.cpp", 9, "/home/me/program", 0x30};
const code_location c_library{"", "", 0, "/usr/lib/libc.so.6", 0x40};

std::string name_of(const json& tables, std::uint32_t node, const char* table) {
  const std::size_t location = tables["nodes"]["location"][node];
  return tables["strings"][tables["locations"][table][location].get<std::size_t>()];
}

TEST(page_names, stacks_share_their_common_frames) {
  html_names names(false);
  const auto first = names.node({allocate, serve, begin});
  EXPECT_EQ(names.node({allocate, serve, begin}), first);
  const auto second = names.node({serve, begin});
  const auto third = names.node({allocate, begin});
  const json tables = names.tables();
  const json& parents = tables["nodes"]["parent"];
  EXPECT_EQ(parents.size(), 5U);  // the root, main, serve, and allocate twice
  EXPECT_EQ(parents[first], second);
  EXPECT_EQ(parents[second], parents[third]);
  EXPECT_EQ(tables["locations"]["line"].size(), 3U);
  EXPECT_EQ(name_of(tables, first, "function"), "allocate()");
  for (std::size_t node = 1; node < parents.size(); ++node) EXPECT_LT(parents[node], node) << "a parent comes first";
  EXPECT_EQ(names.node({}), 0U);
}

TEST(page_names, a_frame_without_a_line_has_an_offset) {
  html_names names(false);
  names.node({c_library});
  EXPECT_EQ(names.tables()["locations"]["line"][0], 0x40);
}

TEST(page_names, only_the_names_of_the_program_are_redacted) {
  html_names names(true);
  const auto node = names.node({c_library, allocate, serve});
  const auto lone_node = names.node({allocate});
  const json tables = names.tables();
  EXPECT_EQ(tables.dump().find("me"), std::string::npos) << tables;
  EXPECT_EQ(tables.dump().find("serve"), std::string::npos) << tables;
  EXPECT_EQ(name_of(tables, node, "module"), "libc.so.6");
  const std::size_t parent = tables["nodes"]["parent"][node];
  EXPECT_EQ(name_of(tables, lone_node, "function"), name_of(tables, static_cast<std::uint32_t>(parent), "function"));
  EXPECT_NE(name_of(tables, lone_node, "function"), "");
}

TEST(page_names, a_long_name_is_cut_between_characters) {
  html_names names(false);
  std::string name(longest_html_name - 1, 'x');
  for (int repeat = 0; repeat < 100'000; ++repeat) name += "\u00e9";
  const auto node = names.node({{name, "", 0, "", 0}});
  const json tables = names.tables();
  const std::string shortened = name_of(tables, node, "function");
  EXPECT_LT(shortened.size(), longest_html_name + 40);
  EXPECT_EQ(shortened.substr(0, longest_html_name + 2), std::string(longest_html_name - 1, 'x') + "\u2026");
  EXPECT_NO_THROW(tables.dump());  // dump() refuses half of a character
  // Bytes that are no text, in any number.
  html_names others(false);
  EXPECT_EQ(others.node({{std::string(1 << 20, '\x80'), "", 0, "", 0}}), 1U);
}

TEST(page_names, empty_values_are_left_out) {
  html_names names(false);
  json report = {
      {"none", 0},
      {"no", false},
      {"null", nullptr},
      {"text", ""},
      {"list", json::array()},
      {"zeros", {0, 0}},
      {"inner", {{"nothing", 0}}},
      {"stack", json::array({{{"function", "f"}, {"file", ""}, {"line", 0}, {"module", "m"}, {"offset", 5}}})},
      {"waits", json::array({{{"holder", 0}}, {{"holder", nullptr}}})},
      {"kept", 1}};
  names.compact(report);
  EXPECT_EQ(report, (json{{"zeros", {0, 0}}, {"stack", 1}, {"waits", {{{"holder", 0}}, json::object()}}, {"kept", 1}}));
}

}  // namespace
}  // namespace tarn::command
