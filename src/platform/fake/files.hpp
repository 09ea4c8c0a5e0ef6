// Lets a test request from the fake files (fake/files.cpp) to fail a call, to shorten it and to list the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tarn::platform::files::fake {

enum class kind : unsigned {
  open,
  close,
  read,
  read_at,
  write,
  write_at,
  seek,
  status,
  status_of,
  sync,
  wait,
  allocate,
  extend,
  cut,
  remove,
  lock,
  map,
  unmap,
  advise,
  sync_map
};

/// A call that is about to be made.
struct call {
  fake::kind kind;
  int descriptor;        ///< -1 where there is none
  std::size_t bytes;     ///< the requested bytes; 0 where there is no size
  std::uint64_t number;  ///< the call's number since the hook was set, from 1
};

/// Says what happens instead of a call: nothing (the default), an error, or a transfer of at most this many bytes.
struct verdict {
  int error = 0;  ///< an errno value; the call is not made
  std::size_t limit = ~std::size_t{0};
};

/// Sets the hook that is asked before every call from now on; null removes it. Threads: one at a time. A ring's calls
/// are asked about when they start, with the kinds that they would have without a ring.
void set_hook(std::function<verdict(const call&)> hook);

/// Returns the number of calls since the hook was set, made or not.
std::uint64_t calls() noexcept;

/// Sets a hook for the life of this object.
class scoped_hook {
 public:
  explicit scoped_hook(std::function<verdict(const call&)> hook) { set_hook(std::move(hook)); }
  ~scoped_hook() { set_hook(nullptr); }
  scoped_hook(const scoped_hook&) = delete;
  scoped_hook& operator=(const scoped_hook&) = delete;
};

}  // namespace tarn::platform::files::fake
