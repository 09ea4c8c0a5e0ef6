// Implements the public heap, a wrapper of heaps::heap.
#include <tarn/heap.hpp>

#include <algorithm>
#include <exception>
#include <new>

#include "base/fault.hpp"
#include "base/options.hpp"
#include "memory/api/heap_access.hpp"
#include "memory/guard/ended_heaps.hpp"
#include "memory/heap/array_pool.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/heap/spaces.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/thread/guarded_heap.hpp"
#include "memory/thread/sites.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"
#include "platform/race_detector.hpp"

namespace tarn {
namespace {

using namespace base::units;

constexpr std::size_t default_segment_bytes = 4_MiB;
/// A heap with initial memory finds room for its records, mostly magazines, without a system call.
constexpr std::size_t prepared_records = 512_KiB;

heaps::heap* heap_in(detail::heap_front* front) noexcept { return static_cast<heaps::heap*>(front); }

pages::space* make_space(const heap_options& options) noexcept {
  std::size_t segment = options.increment != 0 ? options.increment : default_segment_bytes;
  segment = segment < 1_MiB ? 1_MiB : segment;
  const std::size_t units = base::divide_up(segment, pages::unit_bytes);
  const bool must_purge_at_once = base::current_options().purge_delay_ms == 0;
  return heaps::spaces::create({.segment_units = units < pages::max_units ? units : pages::max_units,
                                .alignment = pages::unit_bytes,
                                .limit = options.limit,
                                .purge = options.keeps_memory ? pages::purging::never
                                         : must_purge_at_once ? pages::purging::at_once
                                                              : pages::purging::after_delay});
}

}  // namespace

heap* heap_access::face_of(detail::heap_front* front) noexcept {
  heap* existing = __atomic_load_n(&front->resource, __ATOMIC_ACQUIRE);
  if (existing != nullptr) {
    platform::note_acquire(&front->resource);
    return existing;
  }
  void* const memory = pages::metadata::allocate(sizeof(heap), alignof(heap));
  if (memory == nullptr) return nullptr;
  heap* const wrapper = ::new (memory) heap(heap::face{}, front);
  // If two threads ask at once (owner_of), one wins, and the other's object is not used. release: a thread that sees
  // the pointer sees the object.
  platform::note_release(&front->resource);
  if (!__atomic_compare_exchange_n(&front->resource, &existing, wrapper, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return existing;
  }
  return wrapper;
}

heap::heap(const heap_options& options) : front_(nullptr) {
  pages::space* const space = threads::initialise() ? make_space(options) : nullptr;
  if (space == nullptr) detail::throw_bad_alloc();
  // The heap could never use more.
  const std::size_t initial = options.limit == 0 ? options.initial : std::min(options.initial, options.limit);
  const bool has_initial = initial == 0 || space->reserve(initial);
  heaps::heap* const created =
      has_initial ? heaps::registry::create(*space, options.name != nullptr ? options.name : "") : nullptr;
  if (created == nullptr) {
    heaps::spaces::destroy(space);
    detail::throw_bad_alloc();
  }
  if (initial != 0) pages::metadata::prepare(prepared_records);
  if (options.forbids_remote_frees) created->add_trait(heaps::heap_trait::forbids_remote_frees);
  if (options.counts_calls) created->add_trait(heaps::heap_trait::counting);
  const bool is_guarded = base::current_options().uses_guard;
  if ((options.records_sites || is_guarded) && threads::note_sites(*created, options.records_sites)) {
    created->add_trait(heaps::heap_trait::noting_sites);
    if (is_guarded) threads::guard_object(*created);
  }
  created->eager_bytes = initial != 0 ? initial : default_segment_bytes;
  created->owner_thread.store(platform::thread_number(), std::memory_order_relaxed);
  created->resource = this;
  created->user = 0;
  front_ = created;
}

heap::~heap() {
  heaps::heap* const target = heap_in(front_);
  if (target->space == &heaps::central()) base::fault_not_destroyable(target->name, this);
  if (detail::local_heap == front_) {  // the program ends inside of a scope, for example
    heaps::heap* const thread = threads::own_heap();
    detail::local_heap = thread != nullptr ? static_cast<detail::heap_front*>(thread) : &heaps::no_heap;
  }
  if (target->policy.is_guarded_object()) threads::check_all(*target, "~heap");
  if (target->sites != nullptr) threads::end_sites(*target);
  if (guard::ended_heaps::are_kept) {
    guard::ended_heaps::note_end(target->name);
    target->space->unmap_with(guard::ended_heaps::unmap);
  }
  target->release();
  pages::space* const space = target->space;
  heaps::registry::destroy(target);
  heaps::spaces::destroy(space);
}

void heap::release() noexcept {
  heaps::heap* const target = heap_in(front_);
  if (target->space != &heaps::central()) {
    if (target->policy.is_guarded_object()) threads::check_all(*target, "release");
    target->release();
    if (target->sites != nullptr) threads::forget_sites(*target);
  }
}

std::size_t heap::trim() noexcept {
  heaps::heap* const target = heap_in(front_);
  if (target->policy.is_guarded_object()) threads::end_waiting(*target);
  const heaps::owner_scope hold(*target);
  const std::size_t purged = target->reclaim() + target->purge_slabs();
  return purged + (target->space == &heaps::central() ? heaps::arrays.purge(true) : 0);
}

// Most requests to a memory resource are small. They go straight to the table of classes; the rest is in functions of
// its own, so that nothing is saved on the stack here.

namespace {

bool is_tabled(std::size_t bytes, std::size_t alignment) noexcept {
  return bytes <= detail::tabled_bytes && alignment <= detail::block_alignment;
}
[[gnu::noinline]] void* allocate_other(heap& source, std::size_t bytes, std::size_t alignment, const void* site) {
  void* const block = source.allocate(bytes, alignment);
  threads::correct_site(heap_access::front_of(source), block, bytes, site);
  return block;
}
[[gnu::noinline]] void deallocate_other(heap& target, void* block, std::size_t bytes, std::size_t alignment) noexcept {
  target.deallocate(block, bytes, alignment);
}

}  // namespace

void* heap::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (!is_tabled(bytes, alignment)) [[unlikely]] {
    return allocate_other(*this, bytes, alignment, __builtin_return_address(0));
  }
  const detail::size_class index = detail::quick_class_of(bytes);
  [[maybe_unused]] const detail::inside_heap use(front_);
  void* const block = detail::pop(detail::top_in(front_, index));
  if (block == nullptr) [[unlikely]] {
    return allocate_other(*this, bytes, alignment, __builtin_return_address(0));
  }
  detail::mark_allocated(block, detail::size_of(index));
  detail::note_allocated(block);
  return block;
}

void heap::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) {
  if (!is_tabled(bytes, alignment)) [[unlikely]] {
    deallocate_other(*this, block, bytes, alignment);
    return;
  }
  detail::deallocate(front_, block, detail::quick_class_of(bytes));
}

heap_statistics heap::statistics() const noexcept { return heap_in(front_)->statistics(); }
const char* heap::name() const noexcept { return heap_in(front_)->name; }
bool heap::is_valid() const noexcept {
  heaps::heap* const target = heap_in(front_);
  return target->is_valid() && target->space->is_valid();
}

heap& process_heap() {
  heaps::heap* const process = threads::process_heap();
  heap* const face = process == nullptr ? nullptr : heap_access::face_of(process);
  if (face == nullptr) detail::throw_bad_alloc();
  return *face;
}

heap* owner_of(const void* block) {
  std::uintptr_t key = detail::key_of(block);
  if (key == 0) {
    const pages::slab* const large = pages::page_map::large_around(block);
    if (large == nullptr) return nullptr;
    key = detail::key_of(large->start);
  }
  heap* const face = heap_access::face_of(heaps::owner_in(key));
  if (face == nullptr) detail::throw_bad_alloc();
  return face;
}

}  // namespace tarn

namespace tarn::detail {

heap& current_slow() {
  heaps::heap* const caller = threads::ready(local_heap);
  heap* const face = caller == nullptr ? nullptr : heap_access::face_of(caller);
  if (face == nullptr) throw_bad_alloc();
  return *face;
}

void report_ended_current(bool is_own_heap) noexcept {
  base::fault_ended_current(is_own_heap, __builtin_return_address(0), platform::thread_number());
}

void throw_bad_alloc() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::terminate();
#endif
}

}  // namespace tarn::detail
