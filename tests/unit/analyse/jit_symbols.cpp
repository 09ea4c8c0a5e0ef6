// Tests the names of code that a program made at run time.
#include "profiler/symbols/jit_symbols.hpp"

#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

std::string name_at(const jit_symbols& value, std::uint64_t address) {
  const std::string* const text = value.name_at(address);
  return text == nullptr ? "" : *text;
}

TEST(jit_symbols, a_perf_map_names_ranges) {
  jit_symbols result;
  result.read_map("1000 20 LazyCompile:~one /a b.js:3\n0x2000 0x10 two\nnonsense\n3000 zz three\n4000 10\n5000 8 last");
  EXPECT_EQ(name_at(result, 0x1000), "LazyCompile:~one /a b.js:3");
  EXPECT_EQ(name_at(result, 0x101f), "LazyCompile:~one /a b.js:3");
  EXPECT_EQ(name_at(result, 0x1020), "");
  EXPECT_EQ(name_at(result, 0xfff), "");
  EXPECT_EQ(name_at(result, 0x2000), "two");
  EXPECT_EQ(name_at(result, 0x3000), "");
  EXPECT_EQ(name_at(result, 0x5007), "last");
}

TEST(jit_symbols, what_comes_later_takes_the_place_of_what_was_there) {
  jit_symbols result;
  result.read_map("1000 100 first\n1100 100 second\n1080 100 third\n");
  EXPECT_EQ(name_at(result, 0x1000), "");
  EXPECT_EQ(name_at(result, 0x1080), "third");
  EXPECT_EQ(name_at(result, 0x117f), "third");
  EXPECT_EQ(name_at(result, 0x1180), "");
  result.read_map("ffffffffffffff00 200 beyond\n0 0 none\n");
  EXPECT_EQ(name_at(result, 0xffffffffffffff01), "");
}

template <class Number>
void put(std::string& end, Number value) {
  end.append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string dump_of(std::uint64_t start, std::uint64_t size, const std::string& name) {
  std::string text;
  for (const std::uint32_t number : {0x4A695444U, 1U, 40U, 62U, 0U, 7U}) put(text, number);
  put(text, std::uint64_t{0});
  put(text, std::uint64_t{0});
  put(text, std::uint32_t{3});  // another kind of record
  put(text, std::uint32_t{24});
  put(text, std::uint64_t{0});
  put(text, std::uint64_t{0});
  put(text, std::uint32_t{0});
  put(text, static_cast<std::uint32_t>(16 + 40 + name.size() + 1 + size));
  put(text, std::uint64_t{0});
  put(text, std::uint32_t{7});
  put(text, std::uint32_t{7});
  for (const std::uint64_t value : {start, start, size, std::uint64_t{1}}) put(text, value);
  return text + name + std::string(1 + size, '\0');
}

TEST(jit_symbols, a_jitdump_names_ranges) {
  const std::string whole = dump_of(0x7000, 0x30, "jitted");
  jit_symbols result;
  EXPECT_TRUE(result.read_dump(whole));
  EXPECT_EQ(name_at(result, 0x702f), "jitted");
  EXPECT_EQ(name_at(result, 0x7030), "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    jit_symbols part;
    EXPECT_EQ(part.read_dump(whole.substr(0, size)), size >= 40);
  }
  EXPECT_FALSE(jit_symbols().read_dump(std::string(100, 'x')));
}

}  // namespace
}  // namespace tarn::analyse
