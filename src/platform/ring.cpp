// io_uring, by liburing. The first ring loads the library by name, so a program that is linked with Tarn needs it
// neither to link nor to run. Only four functions are in the library; the rest of liburing is inline in its header.
#include <algorithm>
#include <cerrno>
#include <new>

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
    void* const handle = ::dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto set = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    is_complete = set(init, "io_uring_queue_init_params") && set(exit, "io_uring_queue_exit") &&
                  set(register_slots, "io_uring_register_files_sparse") && set(enter, "io_uring_submit_and_wait");
  }
  bool is_complete = false;

  static const library& instance() noexcept {
    static const library instance;
    return instance;
  }
};

class ring final : public many_calls {
 public:
  ~ring() override {
    while (next() != nullptr) {  // the kernel writes into the callers' memory
    }
    if (is_open_) library::instance().exit(&ring_);
  }

  bool open(unsigned limit) noexcept {
    const library& liburing = library::instance();
    finished_.reset(new (std::nothrow) call*[limit]);
    if (!liburing.is_complete || finished_ == nullptr) return false;
    // Completions are delivered when asked for, without interrupting the thread; Linux 6.1.
    for (const unsigned flags : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0u}) {
      io_uring_params parameters{};
      parameters.flags = flags;
      is_open_ = liburing.init(limit, &ring_, &parameters) == 0;
      if (is_open_) break;
    }
    // A kernel that can register slots (Linux 5.19) has everything that is used here. A filter of system calls may
    // still refuse one call and allow another.
    return is_open_ && liburing.register_slots(&ring_, limit) >= 0 && is_answering();
  }

  void start(call& operation) noexcept override {
    // The kernel passes calls with these flags to a thread, which costs twice as much as a plain call
    // (docs/design/io.md).
    constexpr int by_thread = O_CREAT | O_TRUNC;
    if (operation.kind == call_kind::status ||
        (operation.kind == call_kind::open && (operation.flags & by_thread) != 0)) {
      operation.result = make(operation, operation.file);
      finished_[done_count_++] = &operation;
      return;
    }
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    const auto bytes = static_cast<unsigned>(std::min(operation.bytes, max_bytes));
    switch (operation.kind) {
      case call_kind::open:
        if (operation.is_slot) {
          ::io_uring_prep_openat_direct(entry, operation.folder, operation.path, operation.flags, operation.mode,
                                        static_cast<unsigned>(operation.file));
        } else {
          ::io_uring_prep_openat(entry, operation.folder, operation.path, operation.flags | O_CLOEXEC, operation.mode);
        }
        break;
      case call_kind::read:
        ::io_uring_prep_read(entry, operation.file, operation.buffer, bytes, operation.offset);
        break;
      case call_kind::write:
        ::io_uring_prep_write(entry, operation.file, operation.buffer, bytes, operation.offset);
        break;
      case call_kind::close:
        if (operation.is_slot) {
          ::io_uring_prep_close_direct(entry, static_cast<unsigned>(operation.file));
        } else {
          ::io_uring_prep_close(entry, operation.file);
        }
        break;
      case call_kind::status: break;
    }
    if (operation.is_slot && (operation.kind == call_kind::read || operation.kind == call_kind::write))
      entry->flags |= IOSQE_FIXED_FILE;
    ::io_uring_sqe_set_data(entry, &operation);
    ++pending_count_;
  }

  call* next() noexcept override {
    if (done_count_ > 0) return finished_[--done_count_];
    if (pending_count_ == 0) return nullptr;
    for (;;) {
      io_uring_cqe* completion = nullptr;
      unsigned head;
      io_uring_for_each_cqe(&ring_, head, completion) {
        auto* const operation = static_cast<call*>(::io_uring_cqe_get_data(completion));
        operation->result = completion->res;
        ::io_uring_cqe_seen(&ring_, completion);
        --pending_count_;
        return operation;
      }
      // Waits for half of them: while the disk fetches the others, this thread has work to do. A failure here is an
      // interruption, or a momentary shortage of memory; asking again loses nothing.
      library::instance().enter(&ring_, std::max(1u, pending_count_ / 2));
    }
  }

 private:
  static constexpr std::size_t max_bytes = std::size_t{1} << 30;

  bool is_answering() noexcept {
    ::io_uring_prep_nop(::io_uring_get_sqe(&ring_));
    int status;
    do {
      status = library::instance().enter(&ring_, 1);
    } while (status == -EINTR);
    if (status != 1) return false;
    ::io_uring_cq_advance(&ring_, 1);
    return true;
  }

  io_uring ring_{};
  bool is_open_ = false;
  unsigned pending_count_ = 0;  // started and not yet returned
  unsigned done_count_ = 0;
  std::unique_ptr<call*[]> finished_;  // finished by plain calls
};

}  // namespace

std::unique_ptr<many_calls> ring_calls(unsigned max_calls) noexcept {
  std::unique_ptr<ring> result(new (std::nothrow) ring);
  if (result == nullptr || !result->open(max_calls)) return nullptr;
  return result;
}

#else

std::unique_ptr<many_calls> ring_calls(unsigned) noexcept { return nullptr; }

#endif

}  // namespace tarn::platform::files
