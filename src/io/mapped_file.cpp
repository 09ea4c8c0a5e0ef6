#include <tarn/io/mapped_file.hpp>

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "platform/files.hpp"
#include "platform/platform.hpp"

namespace tarn::io {
namespace files = platform::files;

// What the handler reads. Records are used again and never freed, so that it can walk them at any time.
struct mapped_file::watched {
  std::atomic<std::uintptr_t> start{0};  // 0: of no mapping
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> lost{false};
  std::atomic<bool> taken{false};
  watched* next = nullptr;

  static inline std::atomic<watched*> all{nullptr};
  static inline struct sigaction before {};

  static watched* take() {
    for (watched* each = all.load(std::memory_order_acquire); each != nullptr; each = each->next) {
      if (!each->taken.exchange(true, std::memory_order_acquire)) return each;
    }
    auto* const made = new watched;
    made->taken.store(true, std::memory_order_relaxed);
    made->next = all.load(std::memory_order_relaxed);
    // release: who finds the record finds its `next`.
    while (!all.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return made;
  }

  // Zeros instead of everything from the page that was touched on: nothing behind the first lost page is there.
  static bool replace(std::uintptr_t address) noexcept {
    for (watched* each = all.load(std::memory_order_acquire); each != nullptr; each = each->next) {
      const std::uintptr_t start = each->start.load(std::memory_order_acquire);
      const std::uintptr_t end = each->end.load(std::memory_order_relaxed);
      if (start == 0 || address < start || address >= end) continue;
      const std::uintptr_t page = address & ~(platform::page_bytes() - 1);
      each->lost.store(true, std::memory_order_relaxed);  // the same thread reads it, after the access that got here
      return ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                    0) != MAP_FAILED;
    }
    return false;
  }

  static void handle(int signal, siginfo_t* info, void* context) {
    const int kept = errno;
    const bool replaced = replace(reinterpret_cast<std::uintptr_t>(info->si_addr));
    errno = kept;
    if (replaced) return;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else {
      ::sigaction(SIGBUS, &before, nullptr);  // and the access comes again, with the ending that it always had
    }
  }

  static void install() {
    struct sigaction ours {};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, &ours, &before);
  }
};

mapped_file::mapped_file(std::string path) : mapped_file(file::open_to_read(std::move(path))) {}

mapped_file::mapped_file(file source) : source_(std::move(source)) {
  struct stat status;
  const files::outcome known = files::status(source_.descriptor(), &status);
  if (known < 0) source_.fail(static_cast<int>(-known), "has no status");
  // A descriptor that stands in the middle is still mapped whole. Files of /proc say 0 and are not empty.
  if (S_ISREG(status.st_mode) && status.st_size > 0) map(static_cast<std::size_t>(status.st_size));
  if (mapping_ == nullptr) read_all();
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      copy_(std::move(other.copy_)),
      source_(std::move(other.source_)) {
  if (mapping_ == nullptr) start_ = copy_.data();  // a short string moves with its object
}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  drop();
  start_ = std::exchange(other.start_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  mapping_ = std::exchange(other.mapping_, nullptr);
  copy_ = std::move(other.copy_);
  source_ = std::move(other.source_);
  if (mapping_ == nullptr) start_ = copy_.data();
  return *this;
}

mapped_file::~mapped_file() { drop(); }

void mapped_file::drop() noexcept {
  if (mapping_ == nullptr) return;
  // First out of the handler's sight: after the unmap the addresses are somebody else's.
  mapping_->start.store(0, std::memory_order_release);
  mapping_->taken.store(false, std::memory_order_release);
  mapping_ = nullptr;
  files::unmap(const_cast<char*>(start_), bytes_);
}

void mapped_file::map(std::size_t bytes) {
  static const bool installed = (watched::install(), true);
  static_cast<void>(installed);
  watched* const range = watched::take();
  const files::outcome got = files::map(source_.descriptor(), 0, bytes, false);
  if (got < 0) {
    range->taken.store(false, std::memory_order_release);
    if (got == -ENODEV || got == -EINVAL) return;  // not every file system has mappings
    source_.fail(static_cast<int>(-got), "cannot be mapped (" + std::to_string(bytes) + " bytes)");
  }
  range->lost.store(false, std::memory_order_relaxed);
  range->end.store(static_cast<std::uintptr_t>(got) + bytes, std::memory_order_relaxed);
  // release: who sees the start sees the end that belongs to it.
  range->start.store(static_cast<std::uintptr_t>(got), std::memory_order_release);
  mapping_ = range;
  start_ = reinterpret_cast<const char*>(got);
  bytes_ = bytes;
}

void mapped_file::read_all() {
  std::size_t filled = 0;
  for (std::size_t room = 64 * 1024;; room *= 2) {
    copy_.resize(room);
    std::size_t got = 1;
    while (filled < room && (got = source_.read_some(copy_.data() + filled, room - filled)) != 0) filled += got;
    if (got == 0) break;
  }
  copy_.resize(filled);
  start_ = copy_.data();
  bytes_ = filled;
}

void mapped_file::check() const {
  if (mapping_ == nullptr) return;
  struct stat status;
  const files::outcome known = files::status(source_.descriptor(), &status);
  if (known < 0) source_.fail(static_cast<int>(-known), "has no status");
  const auto now = static_cast<std::uint64_t>(status.st_size);
  if (now < bytes_) {
    throw error(EIO, source_.name(),
                "shrank from " + std::to_string(bytes_) + " bytes while it was mapped; nothing is there", now);
  }
  if (mapping_->lost.load(std::memory_order_relaxed)) {
    throw error(EIO, source_.name(), "could not be read through its mapping");
  }
}

void mapped_file::prepare(std::size_t offset, std::size_t bytes) const noexcept {
#ifdef MADV_POPULATE_READ
  constexpr int populate = MADV_POPULATE_READ;
#else
  constexpr int populate = 22;  // of Linux 5.14; older kernels refuse it
#endif
  if (mapping_ == nullptr || offset >= bytes_) return;
  const std::size_t start = offset & ~(platform::page_bytes() - 1);
  files::advise(const_cast<char*>(start_) + start, std::min(bytes + (offset - start), bytes_ - start), populate);
}

}  // namespace tarn::io
