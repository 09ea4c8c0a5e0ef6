// Many calls on files at once, for tarn::io::batch. ring.cpp makes them with few system calls where the kernel has
// io_uring, plain_calls() makes them one after the other, and a test's calls go through its hook.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "platform/files.hpp"

namespace tarn::platform::files {

/// Selects the descriptor's own position, which advances.
inline constexpr std::uint64_t own_place = ~std::uint64_t{0};

enum class call_kind : std::uint8_t { open, read, write, close, status };

/// A call to be made. A *slot* is a file that is open for these calls only. It has no descriptor, which saves the
/// kernel a table and a lock for each.
struct call {
  static constexpr int new_descriptor = -1;

  call_kind kind = call_kind::open;
  bool is_slot = false;        ///< `file` is the number of a slot, which an open fills and a close empties
  int file = new_descriptor;   ///< an open returns its descriptor as the result, unless it fills a slot
  int flags = 0;               ///< for open, which adds O_CLOEXEC, and for status, as in statx(2)
  unsigned mode = 0;           ///< for open
  int folder = AT_FDCWD;       ///< for open and status: the folder of the path
  const char* path = nullptr;  ///< for open and status; not copied
  void* buffer = nullptr;      ///< for read and write
  std::size_t bytes = 0;
  std::uint64_t offset = own_place;
  struct statx* status = nullptr;
  outcome result = 0;  ///< as that of the calls in files.hpp: errno negated on failure
};

/// Makes calls that may be in flight at the same time. Threads: one at a time. No function throws.
class many_calls {
 public:
  many_calls() = default;
  many_calls(const many_calls&) = delete;
  many_calls& operator=(const many_calls&) = delete;
  virtual ~many_calls() = default;

  /// Makes the call, now or together with others. The object must not move until next() returns it.
  virtual void start(call& operation) noexcept = 0;
  /// Returns a finished call, in any order, and waits for one if necessary. Returns null when no started call is
  /// left.
  virtual call* next() noexcept = 0;
};

/// Allows at most `max_calls` calls in flight, and as many slots, which the end of the object closes. Returns null
/// where the system has no io_uring or does not allow it, and where Tarn was built without liburing.
std::unique_ptr<many_calls> open_ring(unsigned max_calls) noexcept;
/// Makes one system call for each call.
std::unique_ptr<many_calls> plain_calls(unsigned max_calls);

/// The real ring, which fake/files.cpp wraps.
std::unique_ptr<many_calls> ring_calls(unsigned max_calls) noexcept;
/// Makes one call with the functions of files.hpp; open files are passed as `descriptor`.
outcome make(const call& operation, int descriptor) noexcept;

}  // namespace tarn::platform::files
