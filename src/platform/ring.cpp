// io_uring, by liburing. The library is loaded by name with the first ring, so a program that is linked with Tarn
// needs it neither to link nor to run. Nearly all of liburing is inline in its header; four functions are not.
#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "platform/many_calls.hpp"

#if TARN_LIBURING
#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>
#endif

namespace tarn::platform::files {

#if TARN_LIBURING
namespace {

struct library {
  decltype(&io_uring_queue_init_params) init = nullptr;
  decltype(&io_uring_queue_exit) exit = nullptr;
  decltype(&io_uring_register_files_sparse) register_slots = nullptr;
  decltype(&io_uring_submit_and_wait) enter = nullptr;

  library() noexcept {
    void* const found = ::dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr) return;
    const auto set = [found](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(found, name));
      return function != nullptr;
    };
    is_complete = set(init, "io_uring_queue_init_params") && set(exit, "io_uring_queue_exit") &&
                  set(register_slots, "io_uring_register_files_sparse") && set(enter, "io_uring_submit_and_wait");
  }
  bool is_complete = false;

  static const library& instance() noexcept {
    static const library one;
    return one;
  }
};

class ring final : public many_calls {
 public:
  ~ring() override {
    while (next() != nullptr) {  // the kernel writes into the callers' memory
    }
    if (is_open_) library::instance().exit(&ring_);
  }

  bool open(unsigned most) noexcept {
    const library& liburing = library::instance();
    done_.reset(new (std::nothrow) call*[most]);
    if (!liburing.is_complete || done_ == nullptr) return false;
    // Completions are delivered when asked for, without interrupting the thread; Linux 6.1.
    for (const unsigned flags : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0u}) {
      io_uring_params wanted{};
      wanted.flags = flags;
      is_open_ = liburing.init(most, &ring_, &wanted) == 0;
      if (is_open_) break;
    }
    // Linux 5.19 has everything that is used here if it has this. A filter may refuse one call and allow the other.
    return is_open_ && liburing.register_slots(&ring_, most) >= 0 && is_answering();
  }

  void start(call& one) noexcept override {
    // The kernel gives these to a thread of its own, which costs twice a plain call (docs/design/io.md).
    constexpr int by_thread = O_CREAT | O_TRUNC;
    if (one.kind == call_kind::status || (one.kind == call_kind::open && (one.flags & by_thread) != 0)) {
      one.result = make(one, one.file);
      done_[done_count_++] = &one;
      return;
    }
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    const auto bytes = static_cast<unsigned>(std::min(one.bytes, most_bytes));
    switch (one.kind) {
      case call_kind::open:
        if (one.is_slot) {
          ::io_uring_prep_openat_direct(entry, one.folder, one.path, one.flags, one.mode,
                                        static_cast<unsigned>(one.file));
        } else {
          ::io_uring_prep_openat(entry, one.folder, one.path, one.flags | O_CLOEXEC, one.mode);
        }
        break;
      case call_kind::read: ::io_uring_prep_read(entry, one.file, one.place, bytes, one.offset); break;
      case call_kind::write: ::io_uring_prep_write(entry, one.file, one.place, bytes, one.offset); break;
      case call_kind::close:
        if (one.is_slot) {
          ::io_uring_prep_close_direct(entry, static_cast<unsigned>(one.file));
        } else {
          ::io_uring_prep_close(entry, one.file);
        }
        break;
      case call_kind::status: break;
    }
    if (one.is_slot && (one.kind == call_kind::read || one.kind == call_kind::write)) entry->flags |= IOSQE_FIXED_FILE;
    ::io_uring_sqe_set_data(entry, &one);
    ++asked_;
  }

  call* next() noexcept override {
    if (done_count_ > 0) return done_[--done_count_];
    if (asked_ == 0) return nullptr;
    for (;;) {
      io_uring_cqe* found = nullptr;
      unsigned at;
      io_uring_for_each_cqe(&ring_, at, found) {
        auto* const one = static_cast<call*>(::io_uring_cqe_get_data(found));
        one->result = found->res;
        ::io_uring_cqe_seen(&ring_, found);
        --asked_;
        return one;
      }
      // Waits for half of them: while the disk fetches the others, this thread has work to do. A failure here is an
      // interruption, or a momentary shortage of memory; asking again loses nothing.
      library::instance().enter(&ring_, std::max(1u, asked_ / 2));
    }
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

  bool is_answering() noexcept {
    ::io_uring_prep_nop(::io_uring_get_sqe(&ring_));
    int done;
    do {
      done = library::instance().enter(&ring_, 1);
    } while (done == -EINTR);
    if (done != 1) return false;
    ::io_uring_cq_advance(&ring_, 1);
    return true;
  }

  io_uring ring_{};
  bool is_open_ = false;
  unsigned asked_ = 0;  // started and not yet returned
  unsigned done_count_ = 0;
  std::unique_ptr<call*[]> done_;  // finished by plain calls
};

}  // namespace

std::unique_ptr<many_calls> ring_calls(unsigned most) noexcept {
  std::unique_ptr<ring> made(new (std::nothrow) ring);
  if (made == nullptr || !made->open(most)) return nullptr;
  return made;
}

#else

std::unique_ptr<many_calls> ring_calls(unsigned) noexcept { return nullptr; }

#endif

}  // namespace tarn::platform::files
