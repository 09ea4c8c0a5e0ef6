#include "base/site.hpp"

#include <gmock/gmock.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>

namespace {

using tarn::base::text_buffer;

std::string site_of(const void* address) {
  text_buffer<1024> text;
  tarn::base::append_site(text, address);
  return std::string(text.view());
}

std::string program() {
  char path[PATH_MAX] = "";
  return readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : "";
}

std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the first is the program
      },
      &address);
  return address;
}

std::string short_path(const std::string& path) {
  return path.size() > 160 ? "..." + path.substr(path.size() - 160) : path;
}

TEST(site, in_the_program_is_its_path_and_the_byte_before) {
  const auto* const function = reinterpret_cast<const char*>(&site_of);
  char offset[32];
  std::snprintf(offset, sizeof offset, "+%#lx", reinterpret_cast<std::uintptr_t>(function) - load_address());
  EXPECT_EQ(site_of(function + 1), short_path(program()) + offset);
}

TEST(site, in_a_library_is_its_path) {
  EXPECT_THAT(site_of(reinterpret_cast<const void*>(&std::abort)), testing::HasSubstr("+0x"));
}

TEST(site, outside_of_all_modules_is_the_address) {
  EXPECT_EQ(site_of(reinterpret_cast<const void*>(0x1001)), "0x1000");
  const int local = 0;
  char address[32];
  std::snprintf(address, sizeof address, "%#lx", reinterpret_cast<std::uintptr_t>(&local) - 1);
  EXPECT_EQ(site_of(&local), address);
}

TEST(site, leaves_errno_alone) {
  errno = 77;
  site_of(reinterpret_cast<const void*>(&site_of));
  EXPECT_EQ(errno, 77);
}

}  // namespace
