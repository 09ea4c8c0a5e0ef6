// Around a fork every lock of the allocator is held, so that the child's copy of
// what they guard is whole. Locks are taken in one order everywhere:
//   process heap → registry → list of spaces → spaces → magazines → metadata
//
// What no lock guards is a heap that another thread was using at that moment. In
// the child such a heap is frozen: its blocks stay valid and may be freed, but
// nobody allocates from it or takes it over, because it may have been caught in
// the middle of an operation.
#include "thread/fork.hpp"

#include <pthread.h>

#include "heap/registry.hpp"
#include "pages/metadata.hpp"
#include "thread/threads.hpp"

namespace tarn::threads {
namespace {

using heaps::registry;

constinit platform::mutex spaces_lock;
constinit pages::space* spaces = nullptr;

template <class Each>
void for_spaces(Each each) noexcept {
  for (pages::space* at = spaces; at != nullptr; at = at->next_space) {
    each(*at);
  }
}

void before() noexcept {
  process_heap()->mutex.lock();
  registry::lock().lock();
  spaces_lock.lock();
  for_spaces([](pages::space& each) { each.lock().lock(); });
  heaps::central().lock().lock();
  heaps::magazine_lock().lock();
  pages::metadata::lock().lock();
}

void after_in_parent() noexcept {
  pages::metadata::lock().unlock();
  heaps::magazine_lock().unlock();
  heaps::central().lock().unlock();
  for_spaces([](pages::space& each) { each.lock().unlock(); });
  spaces_lock.unlock();
  registry::lock().unlock();
  process_heap()->mutex.unlock();
}

void after_in_child() noexcept {
  const heaps::heap* const mine = own_heap();
  registry::for_all([mine](heaps::heap& each) {
    if (&each == mine) {
      each.owner_thread.store(platform::thread_number(), std::memory_order_relaxed);
    }
    const heaps::ownership state = each.state.load(std::memory_order_relaxed);
    const bool in_use = state == heaps::ownership::owned || state == heaps::ownership::tending;
    if (in_use && &each != mine && each.space == &heaps::central() && !each.shared) {
      each.state.store(heaps::ownership::frozen, std::memory_order_relaxed);
    }
  });
  pages::metadata::lock().reset();
  heaps::magazine_lock().reset();
  heaps::central().lock().reset();
  for_spaces([](pages::space& each) { each.lock().reset(); });
  spaces_lock.reset();
  registry::lock().reset();
  process_heap()->mutex.reset();
}

}  // namespace

void install_fork_handlers() noexcept { pthread_atfork(before, after_in_parent, after_in_child); }

void enlist(pages::space& joined) noexcept {
  const platform::locked hold(spaces_lock);
  joined.next_space = spaces;
  spaces = &joined;
}

void delist(pages::space& left) noexcept {
  const platform::locked hold(spaces_lock);
  for (pages::space** link = &spaces; *link != nullptr; link = &(*link)->next_space) {
    if (*link == &left) {
      *link = left.next_space;
      return;
    }
  }
}

}  // namespace tarn::threads
