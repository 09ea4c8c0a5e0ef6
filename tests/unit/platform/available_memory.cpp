// Tests what is made of the kernel's files about memory, in folders that look like /proc and /sys.
#include "platform/available_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/bits.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
namespace filesystem = std::filesystem;

class available_memory : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/available_memory.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root = name;
  }
  void TearDown() override { filesystem::remove_all(root); }

  void write(const std::string& path, const std::string& text) {
    filesystem::create_directories(filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void write_machine(std::size_t mib, std::size_t swap_mib = 0) {
    write("/proc/meminfo",
          "MemTotal:       24683520 kB\nMemFree:          100 kB\nMemAvailable:   " + std::to_string(mib * 1024) +
              " kB\nSwapTotal:      99999999 kB\nSwapFree:      " + std::to_string(swap_mib * 1024) + " kB\n");
  }
  void write_group(const std::string& group, const std::string& limit, std::size_t usage) {
    write("/sys/fs/cgroup" + group + "/memory.max", limit + "\n");
    write("/sys/fs/cgroup" + group + "/memory.current", std::to_string(usage) + "\n");
  }
  std::size_t available() const { return platform::available_memory_below(root); }

  std::string root;
};

TEST_F(available_memory, is_unknown_without_files) { EXPECT_EQ(available(), SIZE_MAX); }

TEST_F(available_memory, is_that_of_the_machine_with_swap) {
  write_machine(300);
  EXPECT_EQ(available(), 300_MiB);
  write_machine(300, 50);
  EXPECT_EQ(available(), 350_MiB);
}

TEST_F(available_memory, is_the_least_room_of_the_groups_above) {
  write_machine(1000);
  write("/proc/self/cgroup", "0::/a.slice/b.service\n");
  EXPECT_EQ(available(), 1000_MiB) << "a container may not see its group";
  write_group("/a.slice/b.service", "max", 10_MiB);
  EXPECT_EQ(available(), 1000_MiB);
  write_group("/a.slice", std::to_string(100_MiB), 60_MiB);
  EXPECT_EQ(available(), 40_MiB);
  write("/sys/fs/cgroup/a.slice/memory.stat", "anon 1\nactive_anon 9\nactive_file 1048576\ninactive_file 2097152\n");
  EXPECT_EQ(available(), 43_MiB) << "cached files can go";
  write_group("/a.slice/b.service", std::to_string(20_MiB), 25_MiB);
  EXPECT_EQ(available(), 0u);
}

TEST_F(available_memory, has_the_swap_that_the_group_may_use) {
  write_machine(1000, 500);
  write("/proc/self/cgroup", "0::/\n");
  write_group("", std::to_string(100_MiB), 60_MiB);
  EXPECT_EQ(available(), 540_MiB);
  write("/sys/fs/cgroup/memory.swap.max", std::to_string(30_MiB));
  write("/sys/fs/cgroup/memory.swap.current", std::to_string(20_MiB));
  EXPECT_EQ(available(), 50_MiB);
}

TEST_F(available_memory, knows_groups_of_version_1) {
  write_machine(1000);
  write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/abc\n3:cpu:/\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(100_MiB));
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(70_MiB));
  write("/sys/fs/cgroup/memory/memory.stat", "inactive_file 5\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
  EXPECT_EQ(available(), 31_MiB);
}

TEST_F(available_memory, of_this_machine_is_more_than_nothing) {
  const std::size_t bytes = platform::available_memory();
  EXPECT_GT(bytes, 1_MiB);
  EXPECT_LT(bytes, 1_MiB << 30) << "no machine has so much: the files were not understood";
}

}  // namespace
