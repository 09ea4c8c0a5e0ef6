// The file of a journal, mapped: how it is created, recovered, and restored after somebody truncated it.
//
// A truncation takes the pages away under the writers, and the next store is a SIGBUS. The handler gives the file its
// length and its header back, so that the store can be repeated. What was in the pages is gone, the heads of the
// chunks too, so a line that goes on in such a chunk would never be read. Writers notice it after each line: the
// chunk's number in the file is no longer theirs, or `restorations()` has changed. The line is then erased and written
// again, into a new chunk. Why nothing is missed and nothing is there twice: tests/models/journal_truncated.pml.
#pragma once

#include <tarn/io/journal.hpp>

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/journal_format.hpp"
#include "io/watched_mapping.hpp"

namespace tarn::io {

/// For signal handlers and the dead, not for other threads: the compiler keeps the order of the stores around it. A
/// reader in another process needs no more than that either, as it believes checksums, but release costs nothing here.
inline void store_word(char* address, std::uint64_t word) noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).store(word, std::memory_order_release);
}
inline std::uint64_t load_word(char* address) noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).load(std::memory_order_relaxed);
}

class journal_file {
 public:
  /// Where the newest chunk goes on, and the first line number that was never given out. `slot_number` 0: nowhere.
  struct continuation {
    std::uint64_t slot = 0;
    std::uint64_t slot_number = 0;
    std::size_t offset = 0;
    std::uint64_t next = 1;
    std::uint64_t reserved = 1;
    std::uint64_t next_line = 1;
  };

  enum class cut_off_file { is_refused, is_extended };

  journal_file(std::string path, const journal_options& options, cut_off_file if_truncated = cut_off_file::is_refused);
  ~journal_file();
  journal_file(const journal_file&) = delete;
  journal_file& operator=(const journal_file&) = delete;

  const file& target() const noexcept { return target_; }
  std::uint32_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::uint64_t chunks() const noexcept { return chunks_; }
  std::uint64_t key() const noexcept { return key_; }
  std::uint32_t session() const noexcept { return session_; }
  const continuation& continues() const noexcept { return continues_; }
  char* chunk_at(std::uint64_t slot) const noexcept {
    return start_ + journal_format::header_bytes + slot * chunk_bytes_;
  }

  /// A chunk that no lane writes into: its number, and its slot in `slot`.
  std::uint64_t take_chunk(std::uint64_t& slot) noexcept;
  void leave_chunk(std::uint64_t slot) noexcept;

  /// Grows by one before a restoration gives the file pages again, and by one after it, so it is odd meanwhile, as in
  /// a sequence lock.
  unsigned restorations() const noexcept { return restorations_.load(std::memory_order_acquire); }
  /// Waits until no restoration goes on and returns restorations(): a truncation from now on changes it.
  unsigned settled_restorations() const noexcept;
  /// Gives the file back what a truncation took. Where that cannot be, lines go on into memory. Makes system calls
  /// only; any number of threads, and signal handlers.
  void restore() noexcept;
  /// errno of the restoration that failed; 0: lines are in the file.
  int detached() const noexcept { return detached_.load(std::memory_order_relaxed); }
  /// The path leads to this file, not to one that took its place.
  bool has_its_path() const noexcept;
  void sync();
  /// Others may lock the file from now on.
  void unlock() noexcept;

 private:
  void open(const journal_options& options, cut_off_file if_truncated, bool is_new);
  bool is_all_zeros();
  void create(const journal_options& options);
  void map(const journal_options& options);
  void recover();
  int try_to_restore() noexcept;
  void detach(int reason) noexcept;
  static bool repair(watched_mapping&, void* owner, std::uintptr_t);

  file target_;
  char* start_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t chunk_bytes_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t key_ = 0;
  std::uint32_t session_ = 1;
  continuation continues_;
  journal_format::header header_{};
  watched_mapping* mapping_ = nullptr;
  std::vector<std::atomic<bool>> busy_slots_;  // slots that a lane writes into
  alignas(128) std::atomic<std::uint64_t> next_chunk_{1};
  alignas(128) std::atomic<unsigned> restorations_{0};  // read by each append
  std::atomic<int> detached_{0};
  std::atomic<bool> is_restoring_{false};
  unsigned futile_restorations_ =
      0;  // faults since the last restoration of a file that looked complete; `is_restoring_` guards it
};

}  // namespace tarn::io
