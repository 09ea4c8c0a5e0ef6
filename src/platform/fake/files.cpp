#include "platform/fake/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "platform/file_limit.hpp"
#include "platform/files.hpp"
#include "platform/many_calls.hpp"

namespace tarn::platform::files {
namespace {

using fake::kind;

std::function<fake::verdict(const fake::call&)> hook;
std::uint64_t call_count = 0;

/// Makes the call `real(bytes)` with as many bytes as the test allows, unless the test wants an error.
template <class Call>
outcome call_unless_failing(kind operation, int descriptor, std::size_t bytes, Call real) noexcept {
  std::size_t limit = bytes;
  if (hook) {
    const fake::verdict verdict = hook({operation, descriptor, bytes, ++call_count});
    if (verdict.error != 0) return -verdict.error;
    limit = std::min(limit, verdict.limit);
  }
  const std::int64_t result = real(limit);
  return result < 0 ? -errno : result;
}

}  // namespace

namespace fake {

void set_hook(std::function<verdict(const call&)> new_hook) {
  hook = std::move(new_hook);
  call_count = 0;
}

std::uint64_t calls() noexcept { return call_count; }

}  // namespace fake

outcome open(const char* path, int flags, unsigned mode) noexcept {
  return call_unless_failing(kind::open, -1, 0, [=](std::size_t) { return ::open(path, flags | O_CLOEXEC, mode); });
}

outcome open_in(int folder, const char* path, int flags, unsigned mode) noexcept {
  return call_unless_failing(kind::open, -1, 0,
                             [=](std::size_t) { return ::openat(folder, path, flags | O_CLOEXEC, mode); });
}

outcome close(int descriptor) noexcept {
  return call_unless_failing(kind::close, descriptor, 0, [=](std::size_t) { return ::close(descriptor); });
}

outcome read(int descriptor, void* buffer, std::size_t bytes) noexcept {
  return call_unless_failing(kind::read, descriptor, bytes,
                             [=](std::size_t max_bytes) { return ::read(descriptor, buffer, max_bytes); });
}

outcome read_at(int descriptor, void* buffer, std::size_t bytes, std::uint64_t offset) noexcept {
  return call_unless_failing(kind::read_at, descriptor, bytes, [=](std::size_t max_bytes) {
    return ::pread(descriptor, buffer, max_bytes, static_cast<off_t>(offset));
  });
}

outcome write(int descriptor, const iovec* parts, int count) noexcept {
  std::size_t bytes = 0;
  for (int part = 0; part < count; ++part) bytes += parts[part].iov_len;
  return call_unless_failing(kind::write, descriptor, bytes, [=](std::size_t max_bytes) {
    std::vector<iovec> cut(parts, parts + count);  // may cut any part in the middle
    for (iovec& part : cut) {
      part.iov_len = std::min(part.iov_len, max_bytes);
      max_bytes -= part.iov_len;
    }
    return ::writev(descriptor, cut.data(), count);
  });
}

outcome write_at(int descriptor, const void* buffer, std::size_t bytes, std::uint64_t offset) noexcept {
  return call_unless_failing(kind::write_at, descriptor, bytes, [=](std::size_t max_bytes) {
    return ::pwrite(descriptor, buffer, max_bytes, static_cast<off_t>(offset));
  });
}

outcome seek(int descriptor, std::int64_t offset, int origin) noexcept {
  return call_unless_failing(kind::seek, descriptor, 0,
                             [=](std::size_t) { return ::lseek(descriptor, offset, origin); });
}

outcome status(int descriptor, struct stat* result) noexcept {
  return call_unless_failing(kind::status, descriptor, 0, [=](std::size_t) { return ::fstat(descriptor, result); });
}

outcome status_of(int folder, const char* path, int flags, struct statx* result) noexcept {
  return call_unless_failing(kind::status_of, -1, 0,
                             [=](std::size_t) { return ::statx(folder, path, flags, STATX_BASIC_STATS, result); });
}

outcome sync(int descriptor) noexcept {
  return call_unless_failing(kind::sync, descriptor, 0, [=](std::size_t) { return ::fdatasync(descriptor); });
}

outcome wait(int descriptor, short events) noexcept {
  return call_unless_failing(kind::wait, descriptor, 0, [=](std::size_t) {
    pollfd polled{descriptor, events, 0};
    return ::poll(&polled, 1, -1);
  });
}

outcome allocate(int descriptor, std::uint64_t bytes) noexcept {
  if (exceeds_limit(bytes)) return -EFBIG;
  return call_unless_failing(kind::allocate, descriptor, bytes, [=](std::size_t max_bytes) {
    errno = ::posix_fallocate(descriptor, 0, static_cast<off_t>(max_bytes));
    if (errno == 0 && max_bytes < bytes) errno = ENOSPC;  // like a disk that becomes full halfway
    return errno == 0 ? 0 : -1;
  });
}

outcome extend(int descriptor, std::uint64_t bytes) noexcept {
  if (exceeds_limit(bytes)) return -EFBIG;
  return call_unless_failing(kind::extend, descriptor, bytes, [=](std::size_t max_bytes) {
    return ::fallocate(descriptor, 0, 0, static_cast<off_t>(max_bytes));
  });
}

outcome cut(int descriptor, std::uint64_t bytes) noexcept {
  return call_unless_failing(kind::cut, descriptor, 0,
                             [=](std::size_t) { return ::ftruncate(descriptor, static_cast<off_t>(bytes)); });
}

outcome remove(const char* path) noexcept {
  return call_unless_failing(kind::remove, -1, 0, [=](std::size_t) { return ::unlink(path); });
}

outcome lock(int descriptor) noexcept {
  return call_unless_failing(kind::lock, descriptor, 0,
                             [=](std::size_t) { return ::flock(descriptor, LOCK_EX | LOCK_NB); });
}

outcome map(int descriptor, std::uint64_t offset, std::size_t bytes, bool is_writable) noexcept {
  return call_unless_failing(kind::map, descriptor, bytes, [=](std::size_t) {
    void* const start = ::mmap(nullptr, bytes, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor,
                               static_cast<off_t>(offset));
    return start == MAP_FAILED ? -1 : reinterpret_cast<outcome>(start);
  });
}

outcome unmap(void* start, std::size_t bytes) noexcept {
  return call_unless_failing(kind::unmap, -1, bytes, [=](std::size_t) { return ::munmap(start, bytes); });
}

outcome advise(void* start, std::size_t bytes, int advice) noexcept {
  return call_unless_failing(kind::advise, -1, bytes, [=](std::size_t) { return ::madvise(start, bytes, advice); });
}

outcome sync_map(void* start, std::size_t bytes) noexcept {
  return call_unless_failing(kind::sync_map, -1, bytes, [=](std::size_t) { return ::msync(start, bytes, MS_SYNC); });
}

namespace {

// A ring whose calls are shortened and failed before they reach the real one.
class steered_ring final : public many_calls {
 public:
  explicit steered_ring(std::unique_ptr<many_calls> real) : real_(std::move(real)) {}

  void start(call& operation) noexcept override {
    const std::size_t full_bytes = operation.bytes;
    const outcome verdict = call_unless_failing(kind_of(operation), operation.is_slot ? -1 : operation.file,
                                                operation.bytes, [&](std::size_t max_bytes) {
                                                  operation.bytes = max_bytes;
                                                  return std::int64_t{0};
                                                });
    if (verdict < 0) {
      operation.bytes = full_bytes;
      operation.result = verdict;
      failed_.push_back(&operation);
    } else {
      real_->start(operation);
    }
  }

  call* next() noexcept override {
    if (failed_.empty()) return real_->next();
    call* const operation = failed_.back();
    failed_.pop_back();
    return operation;
  }

 private:
  static kind kind_of(const call& operation) noexcept {
    const bool is_placed = operation.offset != own_place;
    switch (operation.kind) {
      case call_kind::open: return kind::open;
      case call_kind::read: return is_placed ? kind::read_at : kind::read;
      case call_kind::write: return is_placed ? kind::write_at : kind::write;
      case call_kind::close: return kind::close;
      case call_kind::status: return kind::status_of;
    }
    return kind::open;
  }

  std::unique_ptr<many_calls> real_;
  std::vector<call*> failed_;
};

}  // namespace

std::unique_ptr<many_calls> open_ring(unsigned max_calls) noexcept {
  std::unique_ptr<many_calls> real = ring_calls(max_calls);
  if (real == nullptr) return nullptr;
  return std::make_unique<steered_ring>(std::move(real));
}

}  // namespace tarn::platform::files
