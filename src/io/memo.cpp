#include <tarn/io/memo.hpp>

#include <pthread.h>
#include <sys/stat.h>

#include <ctime>
#include <mutex>
#include <stdexcept>

#include "platform/fork_section.hpp"
#include "platform/platform.hpp"
#include "platform/race_detector.hpp"

namespace tarn::detail {

/// The memos of the process, and their threads that wait for another thread's load. No code waits while it holds the
/// lock; a fork holds it, too.
class memo_waits {
 public:
  struct wait {
    std::thread::id thread;
    const memo_load* load;
    wait* next;
  };

  /// Returns false if the calling thread would wait without end.
  bool begin(wait& begun) noexcept {
    const std::lock_guard hold(lock_);
    if (is_circle(*begun.load, begun.thread)) return false;
    begun.next = newest_wait_;
    newest_wait_ = &begun;
    return true;
  }
  void end(const wait& ended_wait) noexcept {
    const std::lock_guard hold(lock_);
    wait** link = &newest_wait_;
    while (*link != &ended_wait) link = &(*link)->next;
    *link = ended_wait.next;
  }

  void add(memo_in_child& added) noexcept {
    const std::lock_guard hold(lock_);
    added.next_ = newest_memo_;
    if (newest_memo_ != nullptr) newest_memo_->before_ = &added;
    newest_memo_ = &added;
  }
  void remove(memo_in_child& memo) noexcept {
    const std::lock_guard hold(lock_);
    (memo.before_ != nullptr ? memo.before_->next_ : newest_memo_) = memo.next_;
    if (memo.next_ != nullptr) memo.next_->before_ = memo.before_;
  }

  void prepare_fork() noexcept {
    if (forking_.enter()) {
      lock_.lock();
      forking_.note_owner();
    }
  }
  void finish_fork_in_parent() noexcept {
    if (forking_.leave()) lock_.unlock();
  }
  void finish_fork_in_child() noexcept {
    if (!forking_.leave_in_child()) return;
    newest_wait_ = nullptr;  // the thread that forks does not wait
    lock_.unlock();
    for (memo_in_child* memo = newest_memo_; memo != nullptr; memo = memo->next_) memo->forget_other_threads_(*memo);
  }

 private:
  // Follows the chain of waits: from a load to the thread that runs it, and on to the load that this thread waits for.
  // The thread that closes a circle comes last, and sees the other waits under the lock. A wait whose load has landed
  // is over, although its thread may not have woken yet. Without that check, this interleaving would look like a
  // circle:
  //   1  thread A waits for a load of B       2  B finishes it, and starts another load
  //   3  that load waits for a load that A started before step 1, while A has not woken yet
  // B sees that its load has landed, because it did that itself. Any other thread sees it, because B comes here later,
  // under the lock. So relaxed suffices.
  bool is_circle(const memo_load& requested_load, std::thread::id caller) const noexcept {
    for (const memo_load* load = &requested_load; load != nullptr && !has_finished(*load);
         load = wanted_by(load->thread_)) {
      if (load->thread_ == caller) return true;
    }
    return false;
  }
  const memo_load* wanted_by(std::thread::id thread) const noexcept {
    const wait* candidate = newest_wait_;
    while (candidate != nullptr && candidate->thread != thread) candidate = candidate->next;
    return candidate != nullptr ? candidate->load : nullptr;
  }
  static bool has_finished(const memo_load& load) noexcept {
    return load.has_finished_.load(std::memory_order_relaxed) != 0;
  }

  spin_mutex lock_;
  platform::fork_section forking_;
  wait* newest_wait_ = nullptr;
  memo_in_child* newest_memo_ = nullptr;
};

namespace {
constinit memo_waits all_waits;

// Registers at load, because a fork that has already begun ignores handlers that are registered later: its child would
// keep a lock that another thread of the parent held.
[[gnu::constructor]] void register_fork_handlers() noexcept {
  ::pthread_atfork([] { all_waits.prepare_fork(); }, [] { all_waits.finish_fork_in_parent(); },
                   [] { all_waits.finish_fork_in_child(); });
}
}  // namespace

void memo_load::wait() {
  memo_waits::wait own_wait{std::this_thread::get_id(), this, nullptr};
  if (!all_waits.begin(own_wait)) {
    throw std::logic_error(
        is_asked_by_caller()
            ? "tarn::io::memo: a loader asks for its own key: let it load the answer without the memo"
            : "tarn::io::memo: loaders wait for each other's answers: let one of them load without the memo");
  }
  has_finished_.wait(0, std::memory_order_acquire);
  platform::note_acquire(&has_finished_);
  all_waits.end(own_wait);
}

void memo_load::finish() noexcept {
  // release: a thread that waited sees the answer.
  platform::note_release(&has_finished_);
  has_finished_.store(1, std::memory_order_release);
  has_finished_.notify_all();
}

void memo_in_child::enrol() { all_waits.add(*this); }

void memo_in_child::leave() noexcept { all_waits.remove(*this); }

namespace {
constexpr std::int64_t ns_of(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
}  // namespace

std::uint64_t memo_now_ms() noexcept { return platform::now_ms(); }

file_stamp stamp_of(const char* path) noexcept {
  struct stat status;
  if (::stat(path, &status) != 0) {
    return {};
  }
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = ns_of(status.st_mtim),
          .changed_ns = ns_of(status.st_ctim)};
}

bool is_settled(const file_stamp& stamp) noexcept {
  constexpr std::int64_t largest_step_ns = 20'000'000;  // the kernel's clock ticks 100 times a second, or more often
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now) - stamp.changed_ns > largest_step_ns;
}

}  // namespace tarn::detail
