#include "blocks.hpp"

#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include <tarn/tarn.h>

// C23's functions, which the drop-in has and glibc of Debian 12 has not.
extern "C" {
[[gnu::weak]] void free_sized(void* block, std::size_t bytes);
[[gnu::weak]] void free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes);
}

namespace soak {

lane* lanes[lane_count];
bool is_scarce = false;
bool is_child = false;

namespace {

constexpr std::size_t page_bytes = 4096;

struct mixture {
  enum sizes : std::uint32_t { mixed, small, wide, large, huge };
  sizes often;
  std::uint32_t of_engine;  ///< how many of 16 blocks are of the engine that is linked in
};
constinit std::atomic<mixture> current_mixture{mixture{mixture::mixed, 1}};
mixture now_drawn() noexcept { return current_mixture.load(std::memory_order_relaxed); }

// Visits the first bytes and a byte of each page, so that the rest of a block that shrinks can be checked.
template <class Visit>
void for_contents(header* block, std::size_t bytes, Visit visit) noexcept {
  auto* const start = reinterpret_cast<unsigned char*>(block);
  const std::size_t dense = bytes < 512 ? bytes : 512;
  for (std::size_t offset = sizeof(header); offset < dense; ++offset) {
    visit(start[offset], static_cast<unsigned char>(block->seed + offset * 7));
  }
  for (std::size_t offset = page_bytes; offset < bytes; offset += page_bytes) {
    visit(start[offset], static_cast<unsigned char>(block->seed + offset * 7));
  }
}

void check_contents(header* block, std::size_t bytes) noexcept {
  for_contents(block, bytes, [](unsigned char byte, unsigned char value) {
    require(byte == value, "a block does not hold what was written\n");
  });
}

unsigned char& last_byte(header* block) noexcept { return reinterpret_cast<unsigned char*>(block)[block->bytes - 1]; }
unsigned char last_value(const header* block) noexcept {
  return static_cast<unsigned char>(block->seed + (block->bytes - 1) * 7);
}

header* fill_block(void* start, std::size_t bytes, header description) noexcept {
  description.bytes = bytes;
  auto* const block = ::new (start) header(description);
  for_contents(block, bytes, [](unsigned char& byte, unsigned char value) { byte = value; });
  last_byte(block) = last_value(block);
  return block;
}

// Null is right where memory is scarce.
header* finish_block(void* start, std::size_t bytes, random& dice, source origin, std::uint32_t lane = 0) noexcept {
  if (start == nullptr) {
    require(is_scarce, "a block is missing\n");
    return nullptr;
  }
  std::size_t usable = bytes;
  if (origin == source::family) {
    usable = malloc_usable_size(start);
  } else if (origin == source::engine) {
    usable = tarn_usable_size(start);
  }
  require(usable >= bytes, "a block is short\n");
  const bool fills_usable =
      dice.next_below(16) == 0 && usable < 100'000;  // glibc allows a program to use the whole block
  return fill_block(start, fills_usable ? usable : bytes,
                    {0, static_cast<std::uint32_t>(dice.next_below(1 << 20)), origin, lane});
}

void require_zero(const void* start, std::size_t bytes) noexcept {
  const auto* const first = static_cast<const char*>(start);
  const std::size_t dense = bytes < page_bytes ? bytes : page_bytes;
  for (std::size_t offset = 0; offset < dense; ++offset) require(first[offset] == 0, "calloc is not zero\n");
  for (std::size_t offset = dense; offset < bytes; offset += page_bytes) {
    require(first[offset] == 0, "calloc is not zero\n");
  }
}

void require_aligned(const void* start, std::size_t alignment) noexcept {
  require(reinterpret_cast<std::uintptr_t>(start) % alignment == 0, "a block is not aligned\n");
}

void* make_aligned(random& dice, std::size_t bytes) noexcept {
  const std::size_t alignment = std::size_t{16}
                                << (dice.next_below(64) == 0 ? dice.next_below(19) : dice.next_below(9));
  void* start = nullptr;
  switch (dice.next_below(4)) {
    case 0: start = std::aligned_alloc(alignment, bytes); break;
    case 1: require(posix_memalign(&start, alignment, bytes) == 0 || start == nullptr, "posix_memalign\n"); break;
    case 2: start = memalign(alignment, bytes); break;
    default: start = ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
  }
  require_aligned(start, alignment);
  return start;
}

// Grows step by step.
void* make_grown(random& dice, std::size_t bytes) noexcept {
  char* start = static_cast<char*>(std::malloc(1));
  if (start == nullptr) return nullptr;
  *start = 'x';
  for (std::size_t now = 1; now < bytes;) {
    now = now * (1 + dice.next_below(4)) + 1 + dice.next_below(40);
    now = now < bytes ? now : bytes;
    auto* const grown = static_cast<char*>(std::realloc(start, now));
    if (grown == nullptr) {
      std::free(start);
      return nullptr;
    }
    start = grown;
    require(*start == 'x', "realloc loses contents\n");
  }
  return start;
}

void free_family(random& dice, header* block) noexcept {
  switch (dice.next_below(8)) {
    case 0: require(std::realloc(block, 0) == nullptr, "realloc to nothing returns a block\n"); break;
    case 1: ::operator delete(block); break;
    default: std::free(block);
  }
}

header* resize_block(random& dice, header* block) noexcept {
  const std::size_t before = block->bytes;
  const header description = *block;
  const std::size_t bytes = draw_size(dice);
  void* const moved = block->origin == source::engine ? tarn_realloc(block, bytes)
                      : dice.next_below(2) == 0       ? std::realloc(block, bytes)
                                                      : reallocarray(block, 1, bytes);
  if (moved == nullptr) {
    require(is_scarce, "realloc fails\n");
    check_block(block);
    return block;
  }
  auto* const resized = static_cast<header*>(moved);
  check_contents(resized, bytes < before ? bytes : before);
  fill_block(moved, bytes, description);
  check_block(resized);
  return resized;
}

}  // namespace

void require(bool is_so, const char* text) noexcept {
  if (!is_so) {
    static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
    std::abort();
  }
}

void choose_mixture(std::uint64_t number) noexcept {
  current_mixture = {static_cast<mixture::sizes>(number % 5), number / 5 % 2 == 0 ? 1u : 8u};
}

// Blocks of the larger kinds are few, so that all of them together take some 100 MB.
std::size_t draw_size(random& dice) noexcept {
  constexpr std::size_t min_bytes = sizeof(header) + 1;
  const mixture::sizes often = now_drawn().often;
  const std::size_t kind = dice.next_below(is_scarce ? 1024 : 4096);
  if (often == mixture::huge && kind % 128 == 1) return min_bytes + dice.next_below(20u << 20);
  if (often == mixture::large && kind % 16 == 1) return min_bytes + (64u << 10) + dice.next_below(2u << 20);
  if (often == mixture::wide && kind % 8 > 2) return min_bytes + (8u << 10) + dice.next_below(40u << 10);
  if (often == mixture::small || kind >= 300) return min_bytes + dice.next_below(700);
  if (kind == 0) return min_bytes + dice.next_below(45u << 20);
  if (kind < 8) return min_bytes + dice.next_below(3u << 20);
  if (kind < 80) return min_bytes + dice.next_below(300u << 10);
  return min_bytes + dice.next_below(20u << 10);
}

header* make_block(random& dice) noexcept {
  const std::size_t bytes = draw_size(dice);
  if (dice.next_below(16) < now_drawn().of_engine) {
    return finish_block(tarn_malloc(bytes), bytes, dice, source::engine);
  }
  void* start = nullptr;
  switch (dice.next_below(15)) {
    case 0:
      start = std::calloc(1, bytes);
      if (start != nullptr) require_zero(start, bytes);
      break;
    case 1: start = make_aligned(dice, bytes); break;
    case 2: start = make_grown(dice, bytes); break;
    case 3: start = ::operator new(bytes, std::nothrow); break;
    case 4: start = reallocarray(nullptr, bytes, 1); break;
    default: start = std::malloc(bytes);
  }
  return finish_block(start, bytes, dice, source::family);
}

header* make_lane_block(random& dice, std::uint32_t number) noexcept {
  const std::size_t bytes = draw_size(dice);
  lanes[number]->abroad.fetch_add(1, std::memory_order_relaxed);
  header* const block = finish_block(lanes[number]->heap.try_allocate(bytes, 16), bytes, dice, source::lane, number);
  if (block == nullptr) lanes[number]->abroad.fetch_sub(1, std::memory_order_relaxed);
  return block;
}

void check_block(header* block) noexcept {
  check_contents(block, block->bytes);
  require(last_byte(block) == last_value(block), "the end of a block was written\n");
}

void end_block(random& dice, header* block) noexcept {
  if (block == nullptr) return;
  check_block(block);
  if (block->origin != source::lane && dice.next_below(8) == 0) block = resize_block(dice, block);
  const std::uint32_t number = block->lane;
  switch (block->origin) {
    case source::family: free_family(dice, block); break;
    case source::engine: tarn_free(block); break;
    case source::lane:
      if (is_child) return;
      tarn_free(block);
      // release: the thread that reads 0 may release the heap.
      lanes[number]->abroad.fetch_sub(1, std::memory_order_release);
  }
}

void call_oddly(random& dice) noexcept {
  void* volatile nothing = std::malloc(0);
  require(nothing != nullptr || is_scarce, "malloc(0) fails\n");
  void* const resized = std::realloc(nothing, 40);
  std::free(resized != nullptr ? resized : nothing);
  volatile std::size_t huge = SIZE_MAX / (2 + dice.next_below(7));
  require(std::calloc(huge, 16) == nullptr && errno == ENOMEM, "calloc of too much\n");
  require(reallocarray(nullptr, 16, huge) == nullptr, "reallocarray of too much\n");
  volatile std::size_t largest = SIZE_MAX - dice.next_below(1 << 20);
  require(std::malloc(largest) == nullptr, "malloc of too much\n");
  void* start = nullptr;
  require(posix_memalign(&start, 24, 100) == EINVAL && start == nullptr, "posix_memalign of an odd alignment\n");
  require(std::aligned_alloc(std::size_t{1} << (40 + dice.next_below(20)), huge) == nullptr,
          "aligned_alloc of too much\n");
  require(malloc_usable_size(nullptr) == 0, "the size of nothing\n");
  if (free_sized != nullptr && free_aligned_sized != nullptr) {
    const std::size_t bytes = dice.next_below(5000);
    free_sized(std::malloc(bytes), bytes);
    free_aligned_sized(std::aligned_alloc(64, bytes), 64, bytes);
    free_sized(nullptr, 7);
  }
  std::free(nullptr);
}

}  // namespace soak
