// Around a fork every lock of the allocator is held, so that the child's copy of
// what they guard is whole. Locks are taken in one order everywhere:
//   process heap → registry → list of spaces → spaces → page map → magazines → metadata,
//   and that of the parcels set aside, under which no other is taken
//
// What no lock guards is a heap that another thread was using at that moment. In
// the child such a heap is frozen: its blocks stay valid and may be freed, but
// nobody allocates from it or takes it over, because it may have been caught in
// the middle of an operation. Heap objects that other threads were using must not be
// used in the child either; that is for the program to see to.
#include "thread/fork.hpp"

#include <pthread.h>

#include "heap/registry.hpp"
#include "heap/set_aside.hpp"
#include "heap/spaces.hpp"
#include "pages/metadata.hpp"
#include "platform/platform.hpp"
#include "thread/threads.hpp"

namespace tarn::threads {
namespace {

using heaps::registry;

constinit std::uint32_t forking_thread = 0;

void before() noexcept {
  process_heap()->mutex.lock();
  registry::lock().lock();
  heaps::spaces::lock_all();
  heaps::central().lock().lock();
  pages::page_map::lock().lock();
  heaps::magazine_lock().lock();
  pages::metadata::lock().lock();
  heaps::set_aside_lock().lock();
  forking_thread = platform::thread_number();
}

void after_in_parent() noexcept {
  heaps::set_aside_lock().unlock();
  pages::metadata::lock().unlock();
  heaps::magazine_lock().unlock();
  pages::page_map::lock().unlock();
  heaps::central().lock().unlock();
  heaps::spaces::unlock_all();
  registry::lock().unlock();
  process_heap()->mutex.unlock();
}

void after_in_child() noexcept {
  registry::freeze_others(own_heap(), forking_thread);
  heaps::set_aside_lock().reset();
  pages::metadata::lock().reset();
  heaps::magazine_lock().reset();
  pages::page_map::lock().reset();
  heaps::central().lock().reset();
  heaps::spaces::reset_all();
  registry::lock().reset();
  process_heap()->mutex.reset();
}

}  // namespace

void install_fork_handlers() noexcept { pthread_atfork(before, after_in_parent, after_in_child); }

}  // namespace tarn::threads
