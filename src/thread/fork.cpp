// Around a fork every lock of the allocator is held, so that the child's copy of
// what they guard is whole; in the order of their ranks, as everywhere (platform/lock_rank.hpp). Single slabs' records
// need no such care: whoever takes one holds the lock of a space.
//
// Handlers before a fork run in the reverse order of pthread_atfork, those after it in
// the same order. So that the locks are held while no other handler runs, ours are
// installed before all others: by the first constructor of the process (the drop-in is
// linked with -z initfirst), else by the program's first. Another order cannot be sound
// for everybody: a handler that takes a lock of its own while ours are held waits for
// whoever allocates under that lock.
//
// Where the engine comes late (a plugin with libtarn.a inside) handlers from before may
// still use it: the thread that forks may take the locks that it holds again, in the
// parent and in the child, until the handler here opens them. What it calls ends before
// the fork, or begins after it, so the child's copy is whole all the same.
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
  process_heap()->mutex.lock_for_fork();
  registry::lock().lock_for_fork();
  heaps::spaces::lock_all();
  heaps::central().lock().lock_for_fork();
  pages::page_map::lock().lock_for_fork();
  heaps::magazine_lock().lock_for_fork();
  pages::metadata::lock().lock_for_fork();
  heaps::set_aside_lock().lock_for_fork();
  forking_thread = platform::thread_number();
}

void after_in_parent() noexcept {
  heaps::set_aside_lock().unlock_after_fork();
  pages::metadata::lock().unlock_after_fork();
  heaps::magazine_lock().unlock_after_fork();
  pages::page_map::lock().unlock_after_fork();
  heaps::central().lock().unlock_after_fork();
  heaps::spaces::unlock_all();
  registry::lock().unlock_after_fork();
  process_heap()->mutex.unlock_after_fork();
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
