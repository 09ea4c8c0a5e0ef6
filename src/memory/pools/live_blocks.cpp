// Finds the blocks in use at the end of a pool, from the free ones, without having noted any block before.
#include <algorithm>
#include <new>

#include <tarn/fixed_pool.hpp>

#include "base/fault.hpp"
#include "memory/pools/guarded_blocks.hpp"
#include "memory/pools/pool_parts.hpp"

namespace tarn {
namespace {

using detail::max_carrier_blocks;
using detail::pool_carrier;
using detail::pool_chunk;

/// A free block while the free blocks are sorted.
struct free_link {
  free_link* next;
};

/// Returns the entrance of the cycle in a list, or null when there is none. A block that was linked twice closes a
/// cycle and is its entrance (R. Floyd's tortoise and hare).
const free_link* cycle_in(const free_link* list) noexcept {
  const free_link* slow = list;
  const free_link* fast = list;
  do {
    if (fast == nullptr || fast->next == nullptr) return nullptr;
    slow = slow->next;
    fast = fast->next->next;
  } while (slow != fast);
  for (slow = list; slow != fast; slow = slow->next) fast = fast->next;
  return slow;
}

template <class Node>
Node* merge_lists(Node* a, Node* b) noexcept {
  Node* first = nullptr;
  Node** end = &first;
  while (a != nullptr && b != nullptr) {
    Node*& lower = a < b ? a : b;
    *end = lower;
    end = &lower->next;
    lower = lower->next;
  }
  *end = a != nullptr ? a : b;
  return first;
}

/// Sorts a list by address. This is a bottom-up merge sort: bin n holds 2^n sorted nodes or none.
template <class Node>
Node* sort_list(Node* list) noexcept {
  Node* bins[64] = {};
  while (list != nullptr) {
    Node* carry = list;
    list = list->next;
    carry->next = nullptr;
    std::size_t bin = 0;
    for (; bins[bin] != nullptr; ++bin) {
      carry = merge_lists(bins[bin], carry);
      bins[bin] = nullptr;
    }
    bins[bin] = carry;
  }
  for (Node* const bin : bins) list = merge_lists(bin, list);
  return list;
}

}  // namespace

// Links the free blocks into a list and sorts it in place. This takes no memory, so a pool can always report at its
// end what is still in use. The gaps between free blocks are the live ones.
void fixed_pool::for_each_live(void (*visit)(void*, void*), void* call) {
  if (guarded_ != nullptr) {
    guarded_->for_each_live(visit, call);
    return;
  }
  free_link* free = nullptr;
  const auto link = [&](void* block) {
    detail::mark_allocated(block, sizeof(free_link));
    free = ::new (block) free_link{free};
  };
  if (magazine_ != nullptr) {
    std::for_each(magazine_->bottom(), top_, link);
    top_ = magazine_->bottom();
  }
  while (carriers_ != nullptr) {
    pool_carrier* const source = carriers_;
    detail::mark_allocated(source, block_bytes_);
    carriers_ = source->next;
    std::for_each_n(source->blocks, carrier_blocks_ - 1, link);
    link(source);
  }
  carried_ = 0;
  if (const free_link* const twice = cycle_in(free)) {
    base::fault_pool_double_free(options_.name, this, twice, block_bytes_);
  }
  free = sort_list(free);
  chunks_ = sort_list(chunks_);

  const auto walk = [&](auto on_live) {
    const free_link* next = free;
    const auto foreign = [&](const char* block) {
      base::fault_foreign_to_pool(options_.name, this, next, block, block_bytes_);
    };
    for (const pool_chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
      for (char* block = chunk->begin; block != chunk->untouched; block += block_bytes_) {
        const auto* const free_address = reinterpret_cast<const char*>(next);
        if (next == nullptr || free_address >= block + block_bytes_) {
          on_live(block);
        } else if (free_address == block) {
          next = next->next;
        } else {
          foreign(free_address > block ? block : nullptr);
        }
      }
    }
    if (next != nullptr) foreign(nullptr);
  };
  walk([](void*) {});  // the first walk only finds faults: nothing may be done to a block that may not be live

  struct putting_back {
    fixed_pool& pool;
    free_link* list;
    ~putting_back() { pool.put_back(list); }
  };
  const putting_back at_end{*this, free};
  walk([=](void* block) { visit(block, call); });
}

// Turns a list of free blocks into carriers; the rest goes to the magazine.
void fixed_pool::put_back(void* list) noexcept {
  auto* next = static_cast<free_link*>(list);
  void* gathered[max_carrier_blocks];
  std::size_t count = 0;
  while (next != nullptr) {
    gathered[count++] = next;
    next = next->next;
    if (count == carrier_blocks_) {
      auto* const carrier = static_cast<pool_carrier*>(gathered[0]);
      detail::mark_allocated(carrier, block_bytes_);
      std::copy_n(gathered + 1, count - 1, carrier->blocks);
      carrier->next = carriers_;
      carriers_ = carrier;
      carried_ += count;
      std::for_each_n(gathered, count, [this](void* block) { detail::mark_free(block, block_bytes_); });
      count = 0;
    }
  }
  for (std::size_t index = 0; index < count; ++index) {
    *top_++ = gathered[index];
    detail::mark_free(gathered[index], block_bytes_);
  }
}

}  // namespace tarn
