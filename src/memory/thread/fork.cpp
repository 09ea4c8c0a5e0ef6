// The forking thread holds every lock of the allocator, so that the child's copy of the guarded data is consistent. The
// locks are taken in the order of their ranks, as everywhere (platform/lock_rank.hpp). The locks of the records of
// segments and of single slabs are left out, because a thread takes them only while it holds the lock of a space.
//
// Handlers before a fork run in the reverse order of pthread_atfork, and those after it in the same order. No other
// handler should run while the locks are held, so these are installed before all others: by the first constructor of
// the process (the drop-in is linked with -z initfirst), otherwise by the program's first. In any other order a fork
// may deadlock: another handler takes a lock of its own while these locks are held, and waits for a thread that
// allocates under that lock.
//
// If the engine is loaded late (by a plugin with libtarn.a inside), handlers that were installed earlier may still use
// it. Therefore the forking thread may take the locks that it holds again, in the parent and in the child, until the
// handler here releases them. A call by such a handler ends before the fork or begins after it, so the child's copy is
// still consistent.
//
// A process with one thread takes no lock, so that a signal handler may fork wherever it interrupted malloc; nothing
// is reset in its child (platform/fork_section.hpp) except for the state of the purge helper (idle_purge.cpp). A signal
// handler of a process with several threads must not fork: the thread may hold one of the locks. glibc has the same
// limit. _Fork() calls no handlers; its child must not allocate unless the parent had one thread. For the latter the
// drop-in ends the visit of the purge helper before _Fork(). It cannot do that where a program makes the system call
// itself: the helper may then hold a lock in the child without end.
//
// A helper may be visiting the heap of the forking thread. It stops soon after a fork has announced itself
// (idle_purge.cpp), but on a loaded machine it may not get a processor for long. The child would inherit a heap in the
// middle of a change, so the forking thread waits for the end of the visit, as it does in its slow paths.
//
// No lock guards a heap that another thread was using at the fork, perhaps in the middle of an operation. The child
// never changes that heap. Its blocks stay valid and may be freed, but it belongs to a thread that does not exist
// there, so no thread allocates from it, collects its inbox or adopts it. The child therefore visits no thread's heap,
// because after a fork each visit of a page costs a fault or a miss. The child must not use heap objects that other
// threads were using either; the program has to ensure that.
#include "memory/thread/fork.hpp"

#include <atomic>

#include <pthread.h>

#include "base/check.hpp"
#include "memory/heap/array_pool.hpp"
#include "memory/heap/registry.hpp"
#include "memory/heap/spaces.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/thread/threads.hpp"
#include "platform/fork_section.hpp"
#include "platform/platform.hpp"

// glibc exports these for its own fork and for other allocators, but declares them in no header.
extern "C" {
[[gnu::weak]] void _IO_list_lock() noexcept;
[[gnu::weak]] void _IO_list_unlock() noexcept;
[[gnu::weak]] void _IO_list_resetlock() noexcept;
}

namespace tarn::threads {
namespace {

using heaps::registry;

// These functions handle the lock of the C library's list of streams. A fork could deadlock with two other threads:
//
//   this thread: fork()        a second: fflush(NULL)       a third: getline(stream)
//   takes our locks                                         takes the stream's lock
//                              takes the list's lock
//   waits for the list         waits for the stream         waits in malloc for our locks
//
// fork() takes the list's lock after all handlers of pthread_atfork and before the locks of its own malloc. So we
// take the list's lock before our locks too. It is recursive. A C library without these functions does not need the
// calls.
namespace streams {
void lock() noexcept {
  if (_IO_list_lock != nullptr) _IO_list_lock();
}
void unlock() noexcept {
  if (_IO_list_unlock != nullptr) _IO_list_unlock();
}
void reset() noexcept {
  if (_IO_list_resetlock != nullptr) _IO_list_resetlock();
}
}  // namespace streams

constinit platform::fork_section section;
constinit std::atomic<platform::mutex*> added_locks[max_added_locks] = {};

template <class Visit>
void for_each_added_lock(Visit visit) noexcept {
  for (auto& entry : added_locks) {
    // acquire: the lock is completely constructed.
    if (platform::mutex* const lock = entry.load(std::memory_order_acquire)) visit(*lock);
  }
}

constinit std::uint32_t forking_thread = 0;  ///< thread number before the fork

void prepare_fork() noexcept {
  if (section.enter()) {
    if (heaps::heap* const thread_heap = own_heap()) thread_heap->visits.wait_for_visitor();
    streams::lock();
    for_each_added_lock([](platform::mutex& lock) { lock.lock_for_fork(); });
    heaps::heap::visit_lock().lock_for_fork();
    process_heap()->mutex.lock_for_fork();
    for (heaps::heap* const heap : heaps_of_several()) heap->mutex.lock_for_fork();
    registry::lock().lock_for_fork();
    heaps::spaces::lock_all();
    heaps::central().lock().lock_for_fork();
    pages::page_map::lock().lock_for_fork();
    heaps::arrays.lock().lock_for_fork();
    pages::metadata::lock().lock_for_fork();
    section.note_owner();
  }
  forking_thread = platform::thread_number();
}

void finish_fork_in_parent() noexcept {
  if (!section.leave()) return;
  pages::metadata::lock().unlock_after_fork();
  heaps::arrays.lock().unlock_after_fork();
  pages::page_map::lock().unlock_after_fork();
  heaps::central().lock().unlock_after_fork();
  heaps::spaces::unlock_all();
  registry::lock().unlock_after_fork();
  for (heaps::heap* const heap : heaps_of_several()) heap->mutex.unlock_after_fork();
  process_heap()->mutex.unlock_after_fork();
  heaps::heap::visit_lock().unlock_after_fork();
  for_each_added_lock([](platform::mutex& lock) { lock.unlock_after_fork(); });
  streams::unlock();
}

// Resets all locks except those of the spaces. With the latter, a purge that the fork interrupted must be ended.
void reset_locks_without_state() noexcept {
  pages::metadata::lock().reset();
  heaps::arrays.lock().reset();
  pages::page_map::lock().reset();
  registry::lock().reset();
}

void finish_fork_in_child() noexcept {
  const std::uint32_t number = platform::thread_number();
  registry::renumber_objects(forking_thread, number);
  if (heaps::heap* const current = own_heap()) {
    current->owner_thread.store(number, std::memory_order_relaxed);
    current->visits.reset_after_fork();
  }
  count_threads_of_child();
  forking_thread = number;  // an outer fork still needs it
  if (!section.leave_in_child()) return;
  pages::space::note_lost_threads();
  reset_locks_without_state();
  heaps::central().reset_after_fork();
  heaps::spaces::reset_all();
  process_heap()->mutex.reset();
  for (heaps::heap* const heap : heaps_of_several()) heap->mutex.reset();
  heaps::heap::visit_lock().reset();
  for_each_added_lock([](platform::mutex& lock) { lock.reset(); });
  streams::reset();
}

}  // namespace

void open_locks_of_lost_helper() noexcept {
  reset_locks_without_state();
  heaps::central().lock().reset();
  heaps::spaces::open_all();
  pages::space::end_lost_purges();
  // The helper may have visited the heap of an ended thread, which a thread of the child adopts: it would wait forever.
  registry::for_all([](heaps::heap& visited) { visited.visits.reset_after_fork(); });
}

void hold_around_fork(platform::mutex& lock) noexcept {
  for (auto& entry : added_locks) {
    platform::mutex* unlocked = nullptr;
    if (entry.compare_exchange_strong(unlocked, &lock, std::memory_order_release) || unlocked == &lock) return;
  }
  TARN_CHECK(false && "there is room for each lock");
}

void install_fork_handlers() noexcept { pthread_atfork(prepare_fork, finish_fork_in_parent, finish_fork_in_child); }

}  // namespace tarn::threads
