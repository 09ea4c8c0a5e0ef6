// Tests that broken call frame information is read within its bounds. The sanitizers watch.
#include "profiler/unwind/call_frames.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <random>
#include <vector>

#include "profiler/unwind/elf_file.hpp"

namespace tarn::cpu {
namespace {

struct copied_frames {
  std::vector<unsigned char> bytes;  // from the .eh_frame_hdr to the end of its part
  std::uint64_t address = 0;         // of the first byte
};

copied_frames frames_of_the_vdso_or_program() {
  copied_frames result;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* target) {
        const ElfW(Phdr)* frames = nullptr;
        for (unsigned index = 0; index < info->dlpi_phnum; ++index) {
          if (info->dlpi_phdr[index].p_type == PT_GNU_EH_FRAME) frames = &info->dlpi_phdr[index];
        }
        for (unsigned index = 0; frames != nullptr && index < info->dlpi_phnum; ++index) {
          const ElfW(Phdr)& part = info->dlpi_phdr[index];
          if (part.p_type != PT_LOAD || frames->p_vaddr < part.p_vaddr ||
              frames->p_vaddr >= part.p_vaddr + part.p_filesz)
            continue;
          auto& result_frames = *static_cast<copied_frames*>(target);
          result_frames.address = info->dlpi_addr + frames->p_vaddr;
          const auto* const start = reinterpret_cast<const unsigned char*>(result_frames.address);
          result_frames.bytes.assign(start, start + (part.p_vaddr + part.p_filesz - frames->p_vaddr));
        }
        return 1;  // the first object is the program
      },
      &result);
  return result;
}

unwind::row row_of(const copied_frames& frames, std::uint64_t address) {
  const unsigned char* const start = frames.bytes.data();
  return unwind::row_in(start, start + frames.bytes.size(), start,
                        reinterpret_cast<std::uintptr_t>(start) + (address - frames.address));
}

TEST(call_frames, of_a_copy_describe_the_code) {
  const copied_frames frames = frames_of_the_vdso_or_program();
  ASSERT_GT(frames.bytes.size(), 100U);
  const unwind::row row = row_of(frames, reinterpret_cast<std::uintptr_t>(&frames_of_the_vdso_or_program) + 4);
  EXPECT_TRUE(row.rule == unwind::row::from_stack || row.rule == unwind::row::from_frame);
}

TEST(call_frames, that_are_broken_are_read_within_their_bounds) {
  const copied_frames good = frames_of_the_vdso_or_program();
  std::mt19937 random(1);
  const auto code = reinterpret_cast<std::uintptr_t>(&frames_of_the_vdso_or_program);
  for (int round = 0; round < 2000; ++round) {
    copied_frames broken = good;
    for (int changes = 0; changes < 200; ++changes)
      broken.bytes[random() % broken.bytes.size()] = static_cast<unsigned char>(random());
    if (round % 4 == 0) broken.bytes.resize(random() % 64 + 1);
    std::memcpy(broken.bytes.data(), good.bytes.data(), std::min<std::size_t>(broken.bytes.size(), 4));
    row_of(broken, code + random() % 4096);
  }
}

TEST(elf_file, of_something_else_has_neither_parts_nor_rows) {
  for (const char* const path : {"/nonexistent", "/proc/self/cmdline", "/", "/dev/null"}) {
    unwind::elf_file file(path);
    EXPECT_EQ(file.bias_of(0x1000, 0), std::nullopt) << path;
    EXPECT_EQ(file.row_at(0x1000).rule, unwind::row::unknown) << path;
  }
}

TEST(elf_file, of_the_program_knows_its_bias_and_its_rows) {
  unwind::elf_file file("/proc/self/exe");
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* target) {
        *static_cast<std::uint64_t*>(target) = info->dlpi_addr;
        return 1;
      },
      &bias);
  const auto code = reinterpret_cast<std::uintptr_t>(&frames_of_the_vdso_or_program);
  EXPECT_GE(code - bias, file.low());
  EXPECT_LT(code - bias, file.high());
  EXPECT_NE(file.row_at(code - bias + 4).rule, unwind::row::unknown);
  EXPECT_EQ(file.row_at(file.high() + 0x100000).rule, unwind::row::unknown);
}

}  // namespace
}  // namespace tarn::cpu
