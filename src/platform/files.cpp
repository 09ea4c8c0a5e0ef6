#include "platform/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "platform/file_limit.hpp"
#include "platform/many_calls.hpp"

namespace tarn::platform::files {
namespace {

outcome outcome_of(std::int64_t result) noexcept { return result < 0 ? -errno : result; }

}  // namespace

outcome open(const char* path, int flags, unsigned mode) noexcept {
  return outcome_of(::open(path, flags | O_CLOEXEC, mode));
}

outcome open_in(int folder, const char* path, int flags, unsigned mode) noexcept {
  return outcome_of(::openat(folder, path, flags | O_CLOEXEC, mode));
}

outcome close(int descriptor) noexcept { return outcome_of(::close(descriptor)); }

outcome read(int descriptor, void* buffer, std::size_t bytes) noexcept {
  return outcome_of(::read(descriptor, buffer, bytes));
}

outcome read_at(int descriptor, void* buffer, std::size_t bytes, std::uint64_t offset) noexcept {
  return outcome_of(::pread(descriptor, buffer, bytes, static_cast<off_t>(offset)));
}

outcome write(int descriptor, const iovec* parts, int count) noexcept {
  return outcome_of(count == 1 ? ::write(descriptor, parts->iov_base, parts->iov_len)
                               : ::writev(descriptor, parts, count));
}

outcome write_at(int descriptor, const void* buffer, std::size_t bytes, std::uint64_t offset) noexcept {
  return outcome_of(::pwrite(descriptor, buffer, bytes, static_cast<off_t>(offset)));
}

outcome seek(int descriptor, std::int64_t offset, int origin) noexcept {
  return outcome_of(::lseek(descriptor, offset, origin));
}

outcome status(int descriptor, struct stat* result) noexcept { return outcome_of(::fstat(descriptor, result)); }

outcome status_of(int folder, const char* path, int flags, struct statx* result) noexcept {
  return outcome_of(::statx(folder, path, flags, STATX_BASIC_STATS, result));
}

outcome sync(int descriptor) noexcept { return outcome_of(::fdatasync(descriptor)); }

outcome wait(int descriptor, short events) noexcept {
  pollfd polled{descriptor, events, 0};
  return outcome_of(::poll(&polled, 1, -1));
}

outcome allocate(int descriptor, std::uint64_t bytes) noexcept {
  if (exceeds_limit(bytes)) return -EFBIG;
  return -::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
}

outcome extend(int descriptor, std::uint64_t bytes) noexcept {
  if (exceeds_limit(bytes)) return -EFBIG;
  const outcome allocate_result = outcome_of(::fallocate(descriptor, 0, 0, static_cast<off_t>(bytes)));
  return allocate_result == -EOPNOTSUPP ? outcome_of(::ftruncate(descriptor, static_cast<off_t>(bytes)))
                                        : allocate_result;
}

outcome cut(int descriptor, std::uint64_t bytes) noexcept {
  return outcome_of(::ftruncate(descriptor, static_cast<off_t>(bytes)));
}

outcome remove(const char* path) noexcept { return outcome_of(::unlink(path)); }

outcome lock(int descriptor) noexcept { return outcome_of(::flock(descriptor, LOCK_EX | LOCK_NB)); }

outcome map(int descriptor, std::uint64_t offset, std::size_t bytes, bool is_writable) noexcept {
  void* const start = ::mmap(nullptr, bytes, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor,
                             static_cast<off_t>(offset));
  return start == MAP_FAILED ? -errno : reinterpret_cast<outcome>(start);
}

outcome unmap(void* start, std::size_t bytes) noexcept { return outcome_of(::munmap(start, bytes)); }

outcome advise(void* start, std::size_t bytes, int advice) noexcept {
  return outcome_of(::madvise(start, bytes, advice));
}

outcome sync_map(void* start, std::size_t bytes) noexcept { return outcome_of(::msync(start, bytes, MS_SYNC)); }

std::unique_ptr<many_calls> open_ring(unsigned max_calls) noexcept { return ring_calls(max_calls); }

}  // namespace tarn::platform::files
