#include "memory/pages/slab.hpp"

#include "platform/platform.hpp"

namespace tarn::pages {

void slab::cut(detail::size_class index_) noexcept {
  index = static_cast<std::uint8_t>(index_);
  capacity = shapes.classes[index_].capacity;
  free_blocks = capacity;
  hint = 0;
  purged_at = 0;
  cleared = is_zeroed ? capacity : 0;
  bytes = shapes.classes[index_].block_bytes;
  std::size_t left = capacity;
  for (std::size_t word = 0; left != 0; ++word) {
    const std::size_t bits_here = left < 64 ? left : 64;
    free[word] = ~std::uint64_t{0} >> (64 - bits_here);
    left -= bits_here;
  }
}

std::size_t slab::take(void** end, std::size_t limit) noexcept {
  const std::size_t block_bytes = shapes.classes[index].block_bytes;
  const std::size_t count = limit < free_blocks ? limit : free_blocks;
  std::size_t taken_count = 0;
  std::size_t word = hint;
  while (taken_count < count) {
    std::uint64_t bits = free[word];
    char* const base = start + word * 64 * block_bytes;
    while (bits != 0 && taken_count < count) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
      *--end = base + bit * block_bytes;
      ++taken_count;
      bits &= bits - 1;
    }
    free[word] = bits;
    if (bits == 0) ++word;
  }
  hint = static_cast<std::uint16_t>(word);
  free_blocks = static_cast<std::uint16_t>(free_blocks - taken_count);
  return taken_count;
}

template <std::uint64_t Flip>
std::size_t slab::find(std::size_t number) const noexcept {
  while (number < capacity) {
    const std::uint64_t bits = (free[number / 64] ^ Flip) >> (number % 64);
    if (bits != 0) {
      const std::size_t block_number = number + static_cast<std::size_t>(std::countr_zero(bits));
      return block_number < capacity ? block_number : capacity;
    }
    number = (number / 64 + 1) * 64;
  }
  return capacity;
}

std::size_t slab::purge_free_pages() noexcept {
  if (free_blocks == purged_at) return 0;
  const std::size_t page = platform::page_bytes();
  std::size_t purged = 0;
  bool was_refused = false;
  std::size_t end = 0;
  for (std::size_t first = next_free(0); first < capacity; first = next_free(end)) {
    end = next_used(first);
    const std::size_t begin = base::align_up(first * bytes, page);
    // The rest behind the last block holds nothing.
    const std::size_t purge_end = end < capacity ? base::align_down(end * bytes, page) : units * unit_bytes;
    if (begin >= purge_end) continue;
    if (platform::purge(start + begin, purge_end - begin)) {
      purged += purge_end - begin;
    } else if (was_refused) {
      return purged;  // the memory is locked, and not just a page of it
    } else {
      was_refused = true;
    }
  }
  purged_at = was_refused ? purged_at : free_blocks;
  return purged;
}

void slab::report_bad_give(void* block_) const noexcept {
  TARN_CHECK(index < detail::class_count && "a large block is no block of a class");
  const std::size_t number = number_of(block_);
  if (number >= capacity) {
    base::fault_foreign_pointer("free", block_);  // it lies in the rest behind the last block
  }
  if (block(number) != block_) base::fault_misaligned("free", block_, block(number), bytes);
  base::fault_double_free("free", block_, bytes);
}

void slab::report_free_already(std::size_t word, std::uint64_t bits) const noexcept {
  base::fault_double_free("free", block(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))), bytes);
}

bool slab::is_valid() const noexcept {
  std::size_t set = 0;
  for (std::size_t word = 0; word * 64 < capacity; ++word) {
    const std::size_t bits_here = capacity - word * 64 < 64 ? capacity - word * 64 : 64;
    if ((free[word] & ~(~std::uint64_t{0} >> (64 - bits_here))) != 0 || (word < hint && free[word] != 0)) return false;
    set += static_cast<std::size_t>(std::popcount(free[word]));
  }
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    if (page_map::slab_of(start + unit * unit_bytes) != this) return false;
  }
  return set == free_blocks && index < detail::class_count;
}

}  // namespace tarn::pages
