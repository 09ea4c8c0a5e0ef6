// The way into the recorder: what each event of the program passes that is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "format/region.hpp"
#include "record/region.hpp"
#include "record/stack.hpp"
#include "record/threads.hpp"

namespace tarn::record {

namespace detail {
// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit says that they are not
extern constinit thread_local bool inside;
extern constinit std::atomic<int> started;  // 1: all is set up; -1: it could not be
// NOLINTEND(bugprone-dynamic-static-initializers)
bool starts() noexcept;
}  // namespace detail

// Whether the calling thread is in the recorder; a handler of a signal may find itself there.
inline bool is_inside() noexcept { return detail::inside; }

// Whether anything of this process is recorded and the calling thread is not in the recorder already: what the C
// library does for the recorder is not the program's. The first call that can tell sets all up.
inline bool records_anything() noexcept {
  if (is_inside()) return false;
  if (detail::started.load(std::memory_order_acquire) != 1 && !detail::starts()) [[unlikely]]
    return false;
  return is_recorded();
}

// The same of `source`.
inline bool records(format::kind source = format::heap_kind) noexcept {
  return records_anything() && (header().sources & format::source_bit(source)) != 0;
}

// While it lives, the calling thread is in the recorder. False where the thread has no memory for its counts.
class entry {
 public:
  entry() noexcept : entry((enter(), thread::own())) {}
  // In the handler of a signal, which may have come in the middle of the C library. Not where is_inside().
  struct in_signal {
    std::uintptr_t stack;  // the thread's stack pointer
  };
  explicit entry(in_signal at) noexcept : entry((enter(), thread::own_in_signal(at.stack))) {}
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  ~entry() {
    if (lock* const held = shared_lock()) [[unlikely]]
      held->release();
    leave();
  }
  explicit operator bool() const noexcept { return self_ != nullptr; }
  thread& self() noexcept { return *self_; }

 private:
  explicit entry(thread* self) noexcept : self_(self) {
    if (lock* const wanted = shared_lock()) [[unlikely]]
      wanted->acquire();
  }
  friend class plain_entry;
  // Handlers of signals see it around all that is done between.
  static void enter() noexcept {
    detail::inside = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  static void leave() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    detail::inside = false;
  }
  lock* shared_lock() const noexcept { return self_ == nullptr ? nullptr : self_->shared_lock(); }
  thread* self_;
};

// The same for a thread that goes the plain way; false for all others, and in the recorder. The fewest instructions.
class plain_entry {
 public:
  plain_entry() noexcept : self_(is_inside() || plain_thread == nullptr || !is_recorded() ? nullptr : plain_thread) {
    if (self_ != nullptr) [[likely]]
      entry::enter();
  }
  plain_entry(const plain_entry&) = delete;
  plain_entry& operator=(const plain_entry&) = delete;
  ~plain_entry() {
    if (self_ != nullptr) [[likely]]
      entry::leave();
  }
  explicit operator bool() const noexcept { return self_ != nullptr; }
  thread& self() noexcept { return *self_; }

 private:
  thread* self_;
};

// While it lives, nothing that this thread does is counted; malloc and free go the long way.
class unseen {
 public:
  unseen() noexcept : was_inside_(std::exchange(detail::inside, true)), counts_(std::exchange(own_counts, nullptr)) {}
  unseen(const unseen&) = delete;
  unseen& operator=(const unseen&) = delete;
  ~unseen() {
    own_counts = counts_;
    detail::inside = was_inside_;
  }

 private:
  bool was_inside_;
  format::thread_record* counts_;
};

// The site of a stack, and the thread's cell for what it allocates there.
struct place {
  std::uint32_t site;
  format::cell* cell;  // null when the region is full
};
place new_heap_place(thread& self, const caller& from) noexcept;
[[gnu::always_inline]] inline place heap_place(thread& self, const caller& from) noexcept {
  const known_stacks::known* const known = self.stacks() == nullptr ? nullptr : self.stacks()->find(from);
  if (known == nullptr || known->cell == nullptr) [[unlikely]]
    return new_heap_place(self, from);
  return {known->site, known->cell};
}

// The site alone.
std::uint32_t site_from(thread& self, const caller& from) noexcept;

}  // namespace tarn::record
