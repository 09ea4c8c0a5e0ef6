// Many calls of files at once: what tarn::io::batch asks the system for. ring.cpp makes them with few system calls
// where the kernel has io_uring, plain_calls() makes them one after the other; a test's are made through its hook.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "platform/files.hpp"

namespace tarn::platform::files {

/// At the descriptor's own place, which moves on.
inline constexpr std::uint64_t own_place = ~std::uint64_t{0};

enum class call_kind : std::uint8_t { open, read, write, close, status };

/// A call that is to be made. A *slot* is a file that is open for these calls only: it has no descriptor, which saves
/// the system a table and a lock for each.
struct call {
  static constexpr int new_descriptor = -1;

  call_kind kind = call_kind::open;
  bool is_slot = false;        ///< `file` is the number of a slot, which an open fills and a close empties
  int file = new_descriptor;   ///< what an open gives is its result, unless it is a slot
  int flags = 0;               ///< open; O_CLOEXEC is added. status: as for statx(2)
  unsigned mode = 0;           ///< open
  int folder = AT_FDCWD;       ///< open, status: where the path begins
  const char* path = nullptr;  ///< open, status; not copied
  void* place = nullptr;       ///< read, write
  std::size_t bytes = 0;
  std::uint64_t offset = own_place;
  struct statx* found = nullptr;
  outcome result = 0;  ///< as that of the calls in files.hpp: minus errno when it failed
};

/// One thread at a time. None of it throws.
class many_calls {
 public:
  many_calls() = default;
  many_calls(const many_calls&) = delete;
  many_calls& operator=(const many_calls&) = delete;
  virtual ~many_calls() = default;

  /// Makes the call, now or together with others. It must stay where it is until next() returns it.
  virtual void start(call& one) noexcept = 0;
  /// A call that is done, in any order; waits for one if there is none. Null when all that were started are done.
  virtual call* next() noexcept = 0;
};

/// At most `most` calls started and not yet returned, and as many slots, which the end of the object closes. Null where
/// the system has no io_uring or does not allow it, and where Tarn was built without liburing.
std::unique_ptr<many_calls> open_ring(unsigned most) noexcept;
/// The same by a system call for each.
std::unique_ptr<many_calls> plain_calls(unsigned most);

/// The real ring, over which files_fake.cpp puts its own.
std::unique_ptr<many_calls> ring_calls(unsigned most) noexcept;
/// One call as the functions of files.hpp make it; of what is open as `descriptor`.
outcome make(const call& one, int descriptor) noexcept;

}  // namespace tarn::platform::files
