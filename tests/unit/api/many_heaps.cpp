// Tests how much memory stays of heap objects that have ended, on the real platform.
#include <unistd.h>
#include <tarn/heap.hpp>

#include <cstdio>
#include <list>

#include <gtest/gtest.h>

namespace {

std::size_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long total = 0;
  unsigned long resident = 0;
  EXPECT_EQ(std::fscanf(file, "%lu %lu", &total, &resident), 2);
  std::fclose(file);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Makes and ends `count` heaps that exist at the same time, and uses several sizes of each.
void make_and_end(std::size_t count) {
  std::list<tarn::heap> heaps(count);
  for (tarn::heap& lane : heaps) {
    for (std::size_t bytes = 64; bytes <= 1'024; bytes *= 2) *static_cast<char*>(lane.allocate(bytes)) = 1;
  }
}

// A page of each record stays, with a part of the page map and the record of the space. All ended heaps together keep
// 4 MiB of arrays and 1 MiB of segments' records, too.
TEST(many_heaps, leave_little_when_they_have_ended) {
  make_and_end(100);
  for (const std::size_t count : {std::size_t{1'000}, std::size_t{10'000}}) {
    const std::size_t before = resident_bytes();
    make_and_end(count);
    const std::size_t after = resident_bytes();
    EXPECT_LE(after - before, count * (std::size_t{7} << 10) + (std::size_t{5} << 20)) << count;
    make_and_end(count);
    EXPECT_LE(resident_bytes(), after + (std::size_t{1} << 20)) << "later heaps use what has stayed";
  }
}

}  // namespace
