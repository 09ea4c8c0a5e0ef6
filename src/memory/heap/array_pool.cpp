#include "memory/heap/array_pool.hpp"

#include <new>

#include "memory/pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

using namespace base::units;

/// Fewer unneeded arrays than this are not worth a purge.
constexpr std::size_t min_purged = 128_KiB / sizeof(magazine);

array_list merged(array_list left, array_list right) noexcept {
  array_list result;
  while (left.first != nullptr && right.first != nullptr) {
    result.push_back(left.first < right.first ? left.pop_front() : right.pop_front());
  }
  for (array_list* const unmerged : {&left, &right}) {
    while (unmerged->first != nullptr) {
      result.push_back(unmerged->pop_front());
    }
  }
  return result;
}

// Sorts by address: bin n holds nothing or a sorted list of 2^n arrays.
array_list sorted(array_list unsorted) noexcept {
  array_list bins[40];
  while (unsorted.first != nullptr) {
    array_list carried;
    carried.push_back(unsorted.pop_front());
    std::size_t bin = 0;
    for (; bins[bin].first != nullptr; ++bin) {
      carried = merged(bins[bin], carried);
      bins[bin] = {};
    }
    bins[bin] = carried;
  }
  array_list result;
  for (const array_list& bin : bins) {
    result = merged(result, bin);
  }
  return result;
}

}  // namespace

constinit array_pool arrays;

void* array_pool::allocate() noexcept {
  const platform::locked hold(mutex_);
  if (free_.first == nullptr && !take_purged_page()) {
    return pages::metadata::allocate(sizeof(magazine), alignof(magazine));
  }
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

bool array_pool::may_purge_later() noexcept {
  const platform::locked hold(mutex_);
  return free_.count >= scattered_ + min_purged;
}

bool array_pool::take_purged_page() noexcept {
  page_run* const source = purged_;
  if (source == nullptr) {
    return false;
  }
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
  if (!platform::purge(start, bytes)) {
    return false;
  }
  const platform::locked hold(mutex_);
  page_run* const run = new_run();
  if (run == nullptr) {
    return false;
  }
  *run = {purged_, start, bytes};
  purged_ = run;
  return true;
}

// The arrays are in no list meanwhile. A process that another thread forks at this moment lacks them, which costs the
// child a little memory.
std::size_t array_pool::purge(bool must_empty) noexcept {
  array_list unneeded_arrays;
  std::size_t unneeded = 0;
  {
    const platform::locked hold(mutex_);
    unneeded = must_empty ? free_.count : min_free_;
    min_free_ = free_.count;
    if (!must_empty && unneeded < scattered_ + min_purged) {
      return 0;
    }
    unneeded_arrays = free_;
    free_ = {};
  }
  unneeded_arrays = sorted(unneeded_arrays);
  array_list remaining;
  while (unneeded_arrays.count > unneeded) {
    remaining.push_back(unneeded_arrays.pop_front());
  }
  const std::size_t needed = remaining.count;
  const std::size_t page = platform::page_bytes();
  std::size_t purged = 0;
  while (unneeded_arrays.first != nullptr) {
    char* const start = reinterpret_cast<char*>(unneeded_arrays.pop_front());
    char* end = start + sizeof(magazine);
    while (reinterpret_cast<char*>(unneeded_arrays.first) == end) {
      end = reinterpret_cast<char*>(unneeded_arrays.pop_front()) + sizeof(magazine);
    }
    char* first_page = base::align_up(start, page);
    char* last_page = base::align_down(end, page);
    if (first_page >= last_page || !purge_pages(first_page, static_cast<std::size_t>(last_page - first_page))) {
      first_page = last_page = end;
    }
    purged += static_cast<std::size_t>(last_page - first_page);
    for (char* array = start; array != end; array += sizeof(magazine)) {
      if (array < first_page || array >= last_page) {
        remaining.push_back(::new (array) magazine);
      }
    }
  }
  const platform::locked hold(mutex_);
  scattered_ = remaining.count - needed;
  while (remaining.first != nullptr) {
    free_.push_back(remaining.pop_front());
  }
  min_free_ = free_.count;
  return purged;
}

}  // namespace tarn::heaps
