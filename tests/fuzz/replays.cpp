// Traces that once broke the replay, and random ones from seeds. The sanitizers watch.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "fuzz/replay_input.hpp"

namespace tarn::fuzz {
namespace {

// The bytes that replay_trace() reads: an event at an address, by a site, of a size.
enum event : unsigned { allocate = 0, release = 2, resize = 3 };
std::string event_of(event kind, unsigned address, unsigned site = 1, unsigned size = 0) {
  return {static_cast<char>(kind | address << 2), static_cast<char>((site - 1) << 4 | size)};
}
std::string job_of(unsigned flags, unsigned site_bits) {
  return {static_cast<char>(flags), static_cast<char>(site_bits)};
}

// malloc at site 1, seven times realloc at site 2, free.
std::string growing() {
  std::string trace = event_of(allocate, 0, 1, 3);
  for (unsigned round = 0; round < 7; ++round) {
    trace += event_of(resize, round);
    trace += event_of(allocate, round + 1, 2, 4 + round);
  }
  return trace + event_of(release, 7);
}

TEST(replays, a_realloc_at_another_site_than_its_malloc_releases_each_block_once) {
  for (unsigned flags = 0; flags < 256; ++flags) {
    for (const unsigned site_bits : {0b000U, 0b010U, 0b100U, 0b110U})
      replay_trace(job_of(flags, site_bits) + growing());
  }
}

TEST(replays, an_address_that_another_thread_freed_is_not_lost) {
  for (unsigned flags = 0; flags < 8; ++flags)
    replay_trace(job_of(flags, 2) + event_of(allocate, 1, 1, 5) + event_of(allocate, 1, 1, 6) + event_of(release, 1));
}

TEST(replays, random_traces_release_each_block_once) {
  std::mt19937 random(1);
  const auto random_below = [&](unsigned end) { return std::uniform_int_distribution<unsigned>(0, end - 1)(random); };
  for (int round = 0; round < 400; ++round) {
    std::string input(2 + 2 * random_below(120), '\0');
    for (char& byte : input) byte = static_cast<char>(random_below(256));
    // Few addresses, so that most releases find a block.
    for (std::size_t index = 2; index < input.size(); index += 2) input[index] = static_cast<char>(input[index] & 0x1f);
    replay_trace(input);
  }
}

}  // namespace
}  // namespace tarn::fuzz
