// The versions of one object, independent of their content.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tarn/detail/readers.hpp>

namespace tarn {

/// A thread that still reads a replaced version.
struct parked_reader {
  std::uint32_t thread;  ///< its number as tools show it
  std::string name;      ///< name of the thread
  std::uint64_t version;
  std::chrono::milliseconds since;  ///< time since the version was replaced
};

namespace detail {

/// Owns the versions and destroys them by version_base::destroy. Invariant: a retired version is neither current nor
/// destroyed; `retired_count_` counts them, except for those that are kept only because a slot that was inherited by
/// fork names them.
///
/// Versions end in any order, unless they are generations. Readers of a generation may reach data that was unlinked in
/// it and in later ones, but no data that was unlinked before it became current. So a generation is destroyed, with the
/// data that was unlinked in it, when neither it nor an older one is read.
class alignas(64) versions {
 public:
  /// Passes the unlinked data from `next`, which has collected it so far, to the generation that ends. It runs under
  /// the lock.
  using give_unlinked = void (*)(version_base& next, version_base& previous) noexcept;

  /// `max_retired` as in reload_options. With `give`, the versions are generations. `kind` and `name` are for
  /// messages; no name: null. `number` is that of the newest version.
  versions(const char* kind, const char* name, std::size_t max_retired, version_base* first,
           give_unlinked give = nullptr, std::uint64_t number = 1) noexcept;
  ~versions();
  versions(const versions&) = delete;
  versions& operator=(const versions&) = delete;

  const current_version& current() const noexcept { return current_; }
  std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  const char* name() const noexcept { return name_; }

  enum class outcome : std::uint8_t {
    published,
    refused,  ///< the maximum number of versions is retired, and each is still read
    changed   ///< the current version is not the expected one
  };
  /// Unless the result is published, the caller still owns `next`. `expected` is the number of a version; 0: any.
  [[nodiscard]] outcome publish(version_base* next, std::uint64_t expected = 0) noexcept {
    return replace(current_, next, expected);
  }
  /// Does the same with one of several current versions, which share the retired ones and the numbers. The result is
  /// `changed`, too, when there is no version.
  [[nodiscard]] outcome replace(current_version& target, version_base* next, std::uint64_t expected) noexcept;
  /// Gives the first version of a further `current_version` a number, before any thread can read it. replace() accepts
  /// a version without a number as any.
  void assign_number(version_base& first) noexcept;
  /// Retires the version of `target`, however many are retired already. `target` then has no version.
  void retire(current_version& target) noexcept;
  /// Destroys versions that nobody reads; returns how many are left.
  std::size_t collect() noexcept;
  bool wait_for_readers(std::chrono::steady_clock::time_point deadline) noexcept;
  std::vector<parked_reader> parked_readers() const;
  [[noreturn]] void refuse() const;

 private:
  bool has_room() const noexcept;
  version_base* take_unread() noexcept;
  version_base* unlink_unread() noexcept;
  void add_retired(version_base* version) noexcept;

  current_version current_;
  std::atomic<std::uint64_t> number_{1};
  // The lock of all writers protects the members from here on; readers do not use them.
  alignas(64) version_base* retired_ = nullptr;
  std::size_t retired_count_ = 0;
  std::size_t max_retired_;
  give_unlinked give_;
  const char* kind_;
  const char* name_;
};

}  // namespace detail

}  // namespace tarn
