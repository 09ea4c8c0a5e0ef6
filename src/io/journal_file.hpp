// The file of a journal, mapped: how it is created, recovered, and restored after somebody truncated it.
//
// A truncation removes pages that threads write, and the next store causes a SIGBUS. The handler restores the length of
// the file and its header, so that the store can be repeated. The content of the pages is lost, and so are the headers
// of chunks; a line that continues in such a chunk would never be read. Writers notice that after each line: the number
// in the chunk's header is not the expected one, or `restorations()` has changed. They then erase the line and write it
// again into a new chunk. tests/models/journal_truncated.pml shows that no line is lost or written twice.
#pragma once

#include <tarn/io/journal.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/journal_format.hpp"
#include "io/watched_mapping.hpp"
#include "platform/files.hpp"

namespace tarn::io {

/// Stores a word so that the compiler keeps the order of the stores around it. That suffices for a signal handler, and
/// for the file of a process that dies here. A reader in another process checks checksums; for it the store is also a
/// release, which costs nothing on x86-64.
inline void store_word(char* address, std::uint64_t word) noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).store(word, std::memory_order_release);
}
inline std::uint64_t load_word(char* address) noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).load(std::memory_order_relaxed);
}

class journal_file {
 public:
  /// The position after the last line of the newest chunk, and the first line number that was never used. `slot_number`
  /// 0: no chunk continues.
  struct continuation {
    std::uint64_t slot = 0;
    std::uint64_t slot_number = 0;
    std::size_t offset = 0;
    std::uint64_t next = 1;
    std::uint64_t reserved = 1;
    std::uint64_t next_line = 1;
  };

  enum class cut_off_file { is_refused, is_extended };

  journal_file(const std::string& path, const journal_options& options,
               cut_off_file if_truncated = cut_off_file::is_refused);
  ~journal_file();
  journal_file(const journal_file&) = delete;
  journal_file& operator=(const journal_file&) = delete;

  const file& target() const noexcept { return target_; }
  std::uint32_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::uint64_t chunks() const noexcept { return chunks_; }
  std::uint64_t key() const noexcept { return key_; }
  std::uint32_t session() const noexcept { return session_; }
  const continuation& next_file() const noexcept { return continues_; }
  char* chunk_at(std::uint64_t slot) const noexcept {
    return start_ + journal_format::header_bytes + slot * chunk_bytes_;
  }

  /// Takes a chunk that no lane writes into. Returns its number, and its slot in `slot`.
  std::uint64_t take_chunk(std::uint64_t& slot) noexcept;
  void leave_chunk(std::uint64_t slot) noexcept;

  /// Returns a count that grows by one before a restoration gives the file pages again, and by one after it. So it is
  /// odd during a restoration, as in a sequence lock.
  unsigned restorations() const noexcept { return restorations_.load(std::memory_order_acquire); }
  /// Waits until no restoration is running, and returns restorations(). Each later truncation changes that number.
  unsigned settled_restorations() const noexcept;
  std::uint64_t truncations() const noexcept { return settled_restorations() / 2; }
  /// Restores the length and the header of a truncated file. If that fails, further lines go into memory. It calls only
  /// system calls; any number of threads, and signal handlers, may call it.
  void restore() noexcept;
  /// Returns the errno of the restoration that failed; 0 if lines go into the file.
  int detach_error() const noexcept { return detached_.load(std::memory_order_relaxed); }
  /// Returns true if the path still leads to this file, and not to a new one.
  bool has_its_path() const noexcept;
  void sync();
  /// Releases the lock of the file, so that it can be opened once more. The file stays known: has_its_path() still
  /// tells.
  void unlock() noexcept;
  /// Takes the released lock again, unless another process has it.
  void lock_again() noexcept;
  /// The handlers of a fork. The child lets go of every inherited file.
  static void prepare_fork() noexcept;
  static void finish_fork_in_parent() noexcept;
  static void finish_fork_in_child() noexcept;

 private:
  platform::files::outcome open_descriptor(const std::string& path, int flags, unsigned mode) noexcept;
  bool open_or_create(const std::string& path, unsigned mode);
  void lock(struct stat& status, bool& is_new);
  void open(const journal_options& options, cut_off_file if_truncated, bool is_new, const struct stat& status);
  void close() noexcept;
  void close_descriptor() noexcept;
  bool is_all_zeros();
  void create(const journal_options& options);
  void map(const journal_options& options);
  void recover();
  int try_to_restore() noexcept;
  void detach(int reason) noexcept;
  bool put_memory_in_place() noexcept;
  void leave_to_parent() noexcept;
  static bool repair(watched_mapping&, void* owner, std::uintptr_t);

  file target_;          // borrows the descriptor
  int descriptor_ = -1;  // -1: closed, or the parent process's
  journal_file* next_ = nullptr;
  const pid_t process_ = ::getpid();
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
  // Faults since the last restoration of a file that looked complete; `is_restoring_` guards it.
  unsigned futile_restorations_ = 0;
};

}  // namespace tarn::io
