#include "fuzz/interpreter.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

#include <tarn/tarn.h>

#include "memory/api/blocks.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"

namespace fuzz {
namespace {

namespace fake = tarn::platform::fake;

// Replaces GoogleTest's checks: a fuzzer wants the process to end at the failure.
void require(bool is_so, const char* condition, std::size_t step) {
  if (!is_so) {
    std::fprintf(stderr, "operation %zu: not so: %s\n", step, condition);
    std::abort();
  }
}
#define REQUIRE(condition) require(condition, #condition, step_)

// Visits every byte of a small block; of a larger one both ends and a byte of each page, so that a sequence stays
// quick.
constexpr std::size_t wholly_filled = 4096;
template <class Each>
void for_filled(std::size_t bytes, Each visit) {
  if (bytes <= wholly_filled) {
    visit(0, bytes);
    return;
  }
  visit(0, 64);
  for (std::size_t offset = wholly_filled; offset < bytes; offset += wholly_filled) visit(offset, 1);
  visit(bytes - 64, 64);
}

void fill(char* start, std::size_t bytes, std::uint8_t fill_byte) {
  for_filled(bytes, [=](std::size_t offset, std::size_t count) { std::memset(start + offset, fill_byte, count); });
}

bool is_filled(const char* start, std::size_t bytes, std::uint8_t fill_byte) {
  bool is_equal = true;
  for_filled(bytes, [&](std::size_t offset, std::size_t count) {
    for (std::size_t end = offset + count; offset < end; ++offset) {
      is_equal = is_equal && static_cast<std::uint8_t>(start[offset]) == fill_byte;
    }
  });
  return is_equal;
}

}  // namespace

interpreter::interpreter(std::span<const std::uint8_t> bytes) : left_(bytes) {
  fake::reset();
  for (auto& thread : threads_) thread = std::make_unique<support::worker>();
  for (std::size_t lane = 0; lane < lanes; ++lane) renew(lane);
}

std::uint8_t interpreter::byte() {
  if (left_.empty()) return 0;
  const std::uint8_t first = left_.front();
  left_ = left_.subspan(1);
  return first;
}

std::size_t interpreter::number() {
  const std::size_t low = byte();
  return low | static_cast<std::size_t>(byte()) << 8;
}

// Mostly small sizes, where most classes are; a few of each larger kind.
std::size_t interpreter::size() {
  const std::uint8_t kind = byte();
  const std::size_t low = byte();
  switch (kind % 8) {
    case 0: return low << 12;                               // to 1 MiB
    case 1: return low << 8 | kind;                         // to 64 KiB
    case 2: return kind < 8 ? (low + 1) << 18 : low << 10;  // to 64 MiB, seldom
    case 3: return low * 16;
    default: return static_cast<std::size_t>(kind / 8) * 32 + low % 32;
  }
}

void interpreter::play() {
  while (!left_.empty()) {
    actor_ = next_actor_;
    threads_[actor_]->run([this] { play_until_switch(); });
    if (next_actor_ == actors) {  // ends its thread: its heap becomes idle and a new thread replaces it
      threads_[actor_] = nullptr;
      threads_[actor_] = std::make_unique<support::worker>();
      next_actor_ = actor_;
    }
  }
  fake::fail_request(0);
  for (actor_ = 0; actor_ < actors; ++actor_) {
    threads_[actor_]->run([this] {
      REQUIRE(tarn::current_heap().is_valid());
      for (std::size_t count = blocks_.size() / (actors - actor_); count != 0; --count) give(blocks_.begin());
      tarn::api::trim();
    });
  }
  REQUIRE(blocks_.empty());
  check_heaps();
}

void interpreter::play_until_switch() {
  const std::size_t own_actor = actor_;
  while (!left_.empty() && next_actor_ == own_actor) {
    ++step_;
    refused_ = fake::refused_requests();
    step(byte());
  }
}

void interpreter::step(std::uint8_t operation) {
  if (operation >= 32 && operation < 144) {  // by far the most frequent
    allocate(operation % 4 < lanes ? operation % 4 : lanes, 16);
    return;
  }
  if (operation >= 144) {
    free_some(1);
    return;
  }
  switch (operation) {
    case 0:
    case 1:
    case 2:
    case 3: next_actor_ = operation % actors; break;
    case 4: next_actor_ = actors; break;
    case 5:
    case 6: release(operation % lanes); break;
    case 7:
    case 8: renew(operation % lanes); break;
    case 9: tarn::api::trim(); break;
    case 10: fake::advance_ms(byte() * std::size_t{8}); break;
    case 11: fake::fail_request(1 + byte() % 8); break;
    case 12: check_heaps(); break;
    case 13:
    case 14:
    case 15: free_some(byte()); break;
    case 16:
    case 17:
    case 18:
    case 19:
    case 20: resize(); break;
    case 21:
    case 22: allocate_zeroed(); break;
    case 23: {  // a run of one size
      const int count = byte() % 64;
      const auto saved_input = left_;
      for (int number_of_run = 0; number_of_run <= count; ++number_of_run) {
        left_ = saved_input;
        allocate(lanes, 16);
      }
      break;
    }
    default: allocate(operation % (lanes + 1), std::size_t{1} << byte() % 19); break;
  }
}

// A null needs a reason: a refused page request, or the heap's limit.
bool interpreter::may_fail(std::size_t lane) const { return fake::refused_requests() != refused_ || lane == 1; }

void interpreter::allocate(std::size_t lane, std::size_t alignment) {
  const std::size_t bytes = size();
  if (lane < lanes && !lanes_[lane]) {
    return;  // there was no memory for it
  }
  void* const block_start =
      lane < lanes ? lanes_[lane]->try_allocate(bytes, alignment) : tarn_aligned_alloc(alignment, bytes);
  REQUIRE(block_start != nullptr || may_fail(lane));
  enter(block_start, bytes, alignment, lane);
}

void interpreter::allocate_zeroed() {
  const std::size_t bytes = size();
  char* const block_start = static_cast<char*>(tarn_calloc(1, bytes));
  REQUIRE(block_start != nullptr || may_fail(lanes));
  if (block_start != nullptr) {
    REQUIRE(is_filled(block_start, bytes, 0));
    REQUIRE(bytes > 65536 || std::all_of(block_start, block_start + bytes, [](char byte) { return byte == 0; }));
  }
  enter(block_start, bytes, 16, lanes);
}

void interpreter::enter(void* block_start, std::size_t request_bytes, std::size_t alignment, std::size_t lane) {
  if (block_start == nullptr) return;
  char* const start = static_cast<char*>(block_start);
  const std::size_t bytes = tarn_usable_size(block_start);
  REQUIRE(reinterpret_cast<std::uintptr_t>(block_start) % alignment == 0);
  REQUIRE(bytes >= request_bytes);
  const auto next = blocks_.lower_bound(start);
  REQUIRE(next == blocks_.end() || start + bytes <= next->first);
  REQUIRE(next == blocks_.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= start);
  const auto fill_byte = static_cast<std::uint8_t>(step_ * 31 + blocks_.size() + 1);
  fill(start, bytes, fill_byte);
  blocks_[start] = {bytes, fill_byte, lane};
}

interpreter::block_map::iterator interpreter::random_block() {
  return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(number() % blocks_.size()));
}

void interpreter::give(block_map::iterator position) {
  REQUIRE(is_filled(position->first, position->second.bytes, position->second.fill));
  char* const start = position->first;
  blocks_.erase(position);
  tarn_free(start);
}

// Frees neighbours by address from a random block on, which empties slabs.
void interpreter::free_some(std::size_t count) {
  if (blocks_.empty() || count == 0) return;
  for (auto position = random_block(); count != 0; --count) {
    const auto next = std::next(position);
    give(position);
    if (next == blocks_.end()) return;
    position = next;
  }
}

void interpreter::resize() {
  if (blocks_.empty()) return;
  const auto resized = random_block();
  const block before = resized->second;
  char* const start = resized->first;
  const std::size_t bytes = size() + 1;
  REQUIRE(is_filled(start, before.bytes, before.fill));
  auto* const block_start = static_cast<char*>(tarn_realloc(start, bytes));
  if (block_start == nullptr) {
    REQUIRE(may_fail(before.lane));
    REQUIRE(is_filled(start, before.bytes, before.fill));
    return;
  }
  blocks_.erase(resized);
  const std::size_t common_bytes = bytes < before.bytes ? bytes : before.bytes;
  if (common_bytes <= wholly_filled) {
    REQUIRE(before.bytes > wholly_filled ? is_filled(block_start, common_bytes < 64 ? common_bytes : 64, before.fill)
                                         : is_filled(block_start, common_bytes, before.fill));
  } else {
    for (std::size_t offset = wholly_filled; offset < common_bytes; offset += wholly_filled) {
      REQUIRE(static_cast<std::uint8_t>(block_start[offset]) == before.fill);
    }
  }
  tarn::heap* const owner = tarn::owner_of(block_start);
  std::size_t lane = 0;
  while (lane < lanes && !(lanes_[lane] && owner == &*lanes_[lane])) ++lane;
  enter(block_start, bytes, 16, lane);
}

void interpreter::forget(std::size_t lane) {
  std::erase_if(blocks_, [=](const auto& entry) { return entry.second.lane == lane; });
}

void interpreter::release(std::size_t lane) {
  if (lanes_[lane]) {
    lanes_[lane]->release();
    forget(lane);
  }
}

// Lane 0 is the usual heap object; lane 1 counts, so its fast path is closed, and has a limit.
void interpreter::renew(std::size_t lane) {
  lanes_[lane].reset();
  forget(lane);
  try {
    if (lane == 0) {
      lanes_[lane].emplace();
    } else {
      lanes_[lane].emplace(tarn::heap_options{.name = "counted", .limit = std::size_t{4} << 20, .counts_calls = true});
    }
  } catch (const std::bad_alloc&) {
    REQUIRE(fake::refused_requests() != 0);
  }
}

void interpreter::check_heaps() {
  for (const auto& lane : lanes_) REQUIRE(!lane || lane->is_valid());
}

}  // namespace fuzz
