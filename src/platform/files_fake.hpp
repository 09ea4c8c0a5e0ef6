// What a test can ask of the fake files (files_fake.cpp): to fail a call, to cut it short, to say what was called.
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
  cut,
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
  std::size_t bytes;     ///< asked for; 0 where there is no size
  std::uint64_t number;  ///< of all calls since the hook was set, from 1
};

/// What is done instead: nothing else (the default), an error, or a transfer of at most so many bytes.
struct verdict {
  int error = 0;  ///< an errno value; the call is not made
  std::size_t most = ~std::size_t{0};
};

/// Asked before every call from now on; null: no more. One thread at a time. Calls of a ring are asked about when they
/// are started, and are of the kinds that they would be without one.
void set_hook(std::function<verdict(const call&)> hook);

/// Calls since the hook was set, made or not.
std::uint64_t calls() noexcept;

/// A hook for the life of this object.
class scoped_hook {
 public:
  explicit scoped_hook(std::function<verdict(const call&)> hook) { set_hook(std::move(hook)); }
  ~scoped_hook() { set_hook(nullptr); }
  scoped_hook(const scoped_hook&) = delete;
  scoped_hook& operator=(const scoped_hook&) = delete;
};

}  // namespace tarn::platform::files::fake
