// The versions of one reloadable object, whatever is in them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tarn/detail/readers.hpp>

namespace tarn {

/// A thread that still reads a version which has been replaced.
struct parked_reader {
  std::uint32_t thread;  ///< as tools show it
  std::string name;      ///< of the thread
  std::uint64_t version;
  std::chrono::milliseconds since;  ///< the version was replaced
};

namespace detail {

/// Owns them, by version_base::destroy. Invariant: what is retired is neither current nor destroyed; `retired` counts
/// it.
class alignas(64) versions {
 public:
  versions(const char* name, std::size_t most_retired, version_base* first) noexcept;
  ~versions();
  versions(const versions&) = delete;
  versions& operator=(const versions&) = delete;

  const current_version& current() const noexcept { return current_; }
  std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  const char* name() const noexcept { return name_; }

  /// False, and `next` is the caller's still, when as many versions are retired as may be, and each is read.
  [[nodiscard]] bool publish(version_base* next) noexcept;
  /// Destroys what nobody reads; how many are left.
  std::size_t collect() noexcept;
  bool wait_for_readers(std::chrono::steady_clock::time_point deadline) noexcept;
  std::vector<parked_reader> parked() const;
  [[noreturn]] void refuse() const;

 private:
  version_base* take_unread() noexcept;

  current_version current_;
  std::atomic<std::uint64_t> number_{1};
  // From here on under the lock of all writers, and not read by readers.
  alignas(64) version_base* retired_ = nullptr;
  std::size_t retired_count_ = 0;
  std::size_t most_retired_;
  const char* name_;
};

}  // namespace detail

}  // namespace tarn
