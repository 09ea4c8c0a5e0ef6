#include "memory/heap/array_pool.hpp"

#include <initializer_list>
#include <new>

#include "memory/pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

using namespace base::units;

/// New memory comes in such blocks, so that arrays lie side by side and whole pages of them can go back.
constexpr std::size_t block_of_arrays = 64_KiB;
static_assert(block_of_arrays % sizeof(magazine) == 0);

/// Fewer unneeded arrays than this are not worth a purge.
constexpr std::size_t min_purged = 128_KiB / sizeof(magazine);
/// More free arrays than this are an excess.
constexpr std::size_t max_kept = 4_MiB / sizeof(magazine);

array_list merge_lists(array_list left, array_list right) noexcept {
  array_list result;
  while (left.first != nullptr && right.first != nullptr) {
    result.push_back(left.first < right.first ? left.pop_front() : right.pop_front());
  }
  for (array_list* const unmerged : {&left, &right}) {
    while (unmerged->first != nullptr) result.push_back(unmerged->pop_front());
  }
  return result;
}

// Sorts by address: bin n holds nothing or a sorted list of 2^n arrays.
array_list sort_list(array_list unsorted) noexcept {
  array_list bins[40];
  while (unsorted.first != nullptr) {
    array_list carried;
    carried.push_back(unsorted.pop_front());
    std::size_t bin = 0;
    for (; bins[bin].first != nullptr; ++bin) {
      carried = merge_lists(bins[bin], carried);
      bins[bin] = {};
    }
    bins[bin] = carried;
  }
  array_list result;
  for (const array_list& bin : bins) result = merge_lists(result, bin);
  return result;
}

}  // namespace

constinit array_pool arrays;

void* array_pool::allocate() noexcept {
  const platform::locked hold(mutex_);
  if (free_.first == nullptr && !take_purged_page()) return take_new();
  magazine* const array = free_.pop_front();
  min_free_ = free_.count < min_free_ ? free_.count : min_free_;
  return array;
}

void array_pool::deallocate(magazine* array) noexcept {
  const platform::locked hold(mutex_);
  array->next() = free_.first;
  free_.first = array;
  free_.last = free_.last == nullptr ? array : free_.last;
  ++free_.count;
}

// Without room for a block, a single array may fit.
void* array_pool::take_new() noexcept {
  if (next_new_ == new_end_) {
    next_new_ = static_cast<char*>(pages::metadata::allocate(block_of_arrays, platform::page_bytes()));
    if (next_new_ == nullptr) {
      new_end_ = nullptr;
      return pages::metadata::allocate(sizeof(magazine), alignof(magazine));
    }
    new_end_ = next_new_ + block_of_arrays;
  }
  char* const array = next_new_;
  next_new_ += sizeof(magazine);
  return array;
}

void array_pool::purge_excess() noexcept {
  {
    const platform::locked hold(mutex_);
    if (free_.count < scattered_ + max_kept) return;
  }
  purge(true);
}

bool array_pool::may_purge_later() noexcept {
  const platform::locked hold(mutex_);
  return free_.count >= scattered_ + min_purged;
}

bool array_pool::take_purged_page() noexcept {
  page_run* const source = purged_;
  if (source == nullptr) return false;
  const std::size_t page = platform::page_bytes();
  source->bytes -= page;
  for (std::size_t offset = 0; offset < page; offset += sizeof(magazine)) {
    free_.push_back(::new (source->start + source->bytes + offset) magazine);
  }
  if (source->bytes == 0) {
    purged_ = source->next;
    source->next = spare_runs_;
    spare_runs_ = source;
  }
  return true;
}

array_pool::page_run* array_pool::new_run() noexcept {
  if (spare_runs_ != nullptr) {
    page_run* const spare = spare_runs_;
    spare_runs_ = spare->next;
    return spare;
  }
  return static_cast<page_run*>(pages::metadata::allocate(sizeof(page_run), alignof(page_run)));
}

bool array_pool::purge_pages(char* start, std::size_t bytes) noexcept {
  if (!platform::purge(start, bytes)) return false;
  const platform::locked hold(mutex_);
  page_run* const run = new_run();
  if (run == nullptr) return false;
  *run = {purged_, start, bytes};
  purged_ = run;
  return true;
}

// The arrays are in no list while this runs. If another thread forks meanwhile, its child loses them, which costs the
// child a little memory.
std::size_t array_pool::purge(bool must_empty) noexcept {
  array_list candidates;
  std::size_t unneeded_count = 0;
  {
    const platform::locked hold(mutex_);
    unneeded_count = must_empty ? free_.count : min_free_;
    min_free_ = free_.count;
    if (!must_empty && unneeded_count < scattered_ + min_purged) return 0;
    candidates = free_;
    free_ = {};
  }
  candidates = sort_list(candidates);
  array_list remaining;
  while (candidates.count > unneeded_count) remaining.push_back(candidates.pop_front());
  const std::size_t kept_count = remaining.count;
  const std::size_t page = platform::page_bytes();
  std::size_t purged_bytes = 0;
  while (candidates.first != nullptr) {
    char* const start = reinterpret_cast<char*>(candidates.pop_front());
    char* end = start + sizeof(magazine);
    while (reinterpret_cast<char*>(candidates.first) == end) {
      end = reinterpret_cast<char*>(candidates.pop_front()) + sizeof(magazine);
    }
    char* pages_start = base::align_up(start, page);
    char* pages_end = base::align_down(end, page);
    if (pages_start >= pages_end || !purge_pages(pages_start, static_cast<std::size_t>(pages_end - pages_start))) {
      pages_start = pages_end = end;
    }
    purged_bytes += static_cast<std::size_t>(pages_end - pages_start);
    for (char* array = start; array != end; array += sizeof(magazine)) {
      if (array < pages_start || array >= pages_end) remaining.push_back(::new (array) magazine);
    }
  }
  const platform::locked hold(mutex_);
  scattered_ = remaining.count - kept_count;
  while (remaining.first != nullptr) free_.push_back(remaining.pop_front());
  min_free_ = free_.count;
  return purged_bytes;
}

}  // namespace tarn::heaps
