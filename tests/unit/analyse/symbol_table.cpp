// Compares the symbols of addresses with those of elfutils, in the libraries that this test itself has loaded.
#include "profiler/symbols/symbol_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

namespace tarn::analyse {
namespace {

class symbol_tables : public testing::Test {
 protected:
  symbol_tables() {
    EXPECT_EQ(dwfl_linux_proc_report(session_.get(), ::getpid()), 0);
    EXPECT_EQ(dwfl_report_end(session_.get(), nullptr, nullptr), 0);
  }

  Dwfl_Module* module_of(const void* address) {
    return dwfl_addrmodule(session_.get(), reinterpret_cast<std::uintptr_t>(address));
  }

 private:
  static constexpr Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                               .find_debuginfo = dwfl_standard_find_debuginfo,
                                               .section_address = dwfl_offline_section_address,
                                               .debuginfo_path = nullptr};
  std::unique_ptr<Dwfl, decltype(&dwfl_end)> session_{dwfl_begin(&callbacks), &dwfl_end};
};

TEST_F(symbol_tables, say_what_elfutils_says) {
  static const int in_this_program = 0;
  const auto of_elfutils = reinterpret_cast<const void*>(&dwfl_begin);
  const auto of_c = reinterpret_cast<const void*>(&::getpid);
  for (const void* const code : {static_cast<const void*>(&in_this_program), of_elfutils, of_c}) {
    Dwfl_Module* const module = module_of(code);
    ASSERT_NE(module, nullptr);
    Dwarf_Addr begin = 0, end = 0;
    SCOPED_TRACE(dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr));
    const symbol_table symbols(module);
    std::mt19937_64 random(1);
    int named = 0;
    for (int round = 0; round < 500; ++round) {
      const std::uint64_t address = std::uniform_int_distribution<std::uint64_t>(begin, end - 1)(random);
      const char* const expected = dwfl_module_addrname(module, address);
      const char* const match = symbols.name_at(address);
      EXPECT_EQ(expected != nullptr ? expected : std::string("nothing"),
                match != nullptr ? match : std::string("nothing"))
          << "at " << std::hex << address - begin;
      named += expected != nullptr ? 1 : 0;
    }
    EXPECT_GT(named, 20) << "it must say something";
  }
}

}  // namespace
}  // namespace tarn::analyse
