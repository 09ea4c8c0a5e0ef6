// A log that survives the death of its process at any instruction.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace tarn::io {

/// Options of a journal. Sizes are in bytes.
struct journal_options {
  /// Size of a new file, which is allocated at once. When the file is full, the oldest chunk is used again: a journal
  /// holds the newest lines, about this many bytes, and four chunks at least. An existing file keeps the size that it
  /// was made with. Less than a chunk, or more than 2^24 chunks (1 TiB), is an error.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  /// Bytes that a thread reserves at a time; a little more than the longest line. A power of two, at least 1 KiB.
  std::uint32_t chunk_bytes = 64 * 1024;
  /// Threads that can be inside append() at the same moment without waiting for each other; rounded down to a power
  /// of two, and to a quarter of the chunks. For signal handlers that interrupt an append there are three times as many
  /// again, but all lanes together are at most half of the chunks.
  unsigned lanes = 16;
  unsigned mode = 0644;  ///< mode of a new file, less the umask
  /// Bytes to prefault when the journal is opened, at about 1 ms for each MiB of a new file. Lines beyond them cost
  /// one page fault for each 4 KiB: 50 to 100 ns for a line of 100 bytes.
  std::uint64_t prefault_bytes = std::uint64_t{2} << 20;
};

/// Appends lines to a file that is mapped. A line belongs to the system once append() has returned: it survives
/// SIGKILL, abort() and faults, whatever instruction came last. It does not survive a power failure; use sync() for
/// that. `journal_reader` and `tarn journal` read the file, also while it is written.
///
/// **When somebody truncates the file**, its old lines are lost, and new lines are kept: the journal restores the
/// length of the file, reports that once on standard error, and continues. When it cannot (the disk is full), it
/// reports that, and lines go into memory until reopen() succeeds. For this purpose the first journal or mapped_file
/// of a process installs a handler of SIGBUS, and the first append() of a thread unblocks that signal. Install a
/// handler of your own before: a later one replaces it.
///
/// Threads: any number of threads, and signal handlers, may call append(); all other functions are for one thread at a
/// time. Threads write into chunks of their own, so that they do not slow each other down. Only one process at a time
/// may have a journal open; a forked child must open a journal of its own, and append() throws std::logic_error there.
class journal {
 public:
  /// Opens the journal at `path`, or creates one. A relative path is made absolute here, so that a later chdir(2) does
  /// not lead reopen() to another file. Throws io::error when another process has it open, when the file is
  /// not a journal (it is then unchanged), and when there is no room; std::invalid_argument for options of a new file
  /// that no journal can have. A file that was created for it is removed again.
  explicit journal(std::string path, journal_options options = {});
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;
  ~journal();

  /// Appends a line: once it has returned, the complete line will be read back. Returns the line's number, which is
  /// unique in the journal and grows within each thread; it is 1, 2, 3 … when one thread appends. Throws
  /// std::length_error for a line that is longer than longest_line(), and then changes nothing. Allocates
  /// nothing and takes no lock. It makes system calls at a thread's first append, while all lanes are taken, and
  /// after a truncation, otherwise none. Cost: a copy and a checksum of the line, and one uncontended atomic exchange.
  ///
  /// A signal handler may call it, also one that interrupted an append. Returns 0 only there: when interrupted appends
  /// have all lanes, the line is dropped, counted in dropped_lines(), and the first is reported on standard error.
  /// That cannot happen while at most three handlers that append interrupt each other in a thread, unless half of the
  /// chunks are too few for so many lanes.
  std::uint64_t append(std::string_view line);

  /// Formats the line directly into the journal: `fill(char* place, std::size_t room)` writes up to `room` bytes and
  /// returns the length of the line. If the length is more than `room`, it is called once more with that much room;
  /// it is also called again when the file was truncated under the line. An exception of `fill` is passed on, and
  /// there is then no line. For appends by `fill` the rules of signal handlers hold. A `fill` with a third parameter is
  /// given the tick of the processor's clock, a std::uint64_t, by which the line is ordered among those of other
  /// threads.
  template <class Fill>
  std::uint64_t append_with(Fill&& fill) {
    entry line(*this);
    if (line.is_dropped()) [[unlikely]] {
      return 0;
    }
    const auto fill_line = [&]() -> std::size_t {
      if constexpr (std::is_invocable_v<Fill&, char*, std::size_t, std::uint64_t>) {
        return fill(line.buffer, line.room, line.tick);
      } else {
        return fill(line.buffer, line.room);
      }
    };
    for (;;) {
      std::size_t size = fill_line();
      if (size > line.room) {
        line.turn(size);
        size = fill_line();
      }
      const std::uint64_t number = line.commit(size < line.room ? size : line.room);
      if (number != 0) return number;
    }
  }

  /// Rotates the log: `mv log log.1`, then call this in a thread of the program (after a signal, for example).
  /// Switches to the file that the path names now, which is created if necessary, and closes the old one. Lines of
  /// appends that have returned are in the old file or in the new one; numbers continue. Returns false when the path
  /// still names the file; nothing was done then. Throws what the constructor throws; appends then continue in the
  /// old file. Waits for appends that have begun; others may append meanwhile. Do not call it from signal handlers or
  /// from the `fill` of append_with.
  bool reopen();

  /// Returns true in a forked child that inherited the journal: append() throws std::logic_error there.
  bool is_inherited() const noexcept;
  /// Says on standard error, once in a process, that the lines of loggers over an inherited journal are dropped; does
  /// nothing if this one is not inherited. Loggers call it.
  void report_dropped_line() const noexcept;
  /// Returns the bytes of the longest line that append() takes: a little less than a chunk.
  std::size_t longest_line() const noexcept;
  /// Waits until everything that was appended before is on the disk. Throws io::error, also when a truncated file
  /// could not be restored.
  void sync();
  /// Returns the number of lines of signal handlers that were dropped: see append(). Any thread may call it.
  std::uint64_t dropped_lines() const noexcept;
  /// Returns the absolute path of the journal.
  const std::string& path() const noexcept;
  /// Returns how often the file was found truncated since this object was made, also before each reopen().
  std::uint64_t truncations() const noexcept;

 private:
  struct state;
  struct lane;

  /// A line that is being written. No line remains unless it is committed.
  struct entry {
    explicit entry(journal& journal);
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry();
    void enter_another() noexcept;
    void begin_in_lane() noexcept;
    void begin() noexcept;
    void begin_again() noexcept;
    void turn(std::size_t size);
    /// Returns the line's number; 0: the file was truncated, and the line must be written once more.
    std::uint64_t commit(std::size_t size) noexcept;

    bool is_dropped() const noexcept { return own_lane == nullptr; }

    journal::state& owner;
    lane* own_lane;  ///< null: there was none, and the line is dropped
    char* buffer;
    std::size_t room;
    std::uint64_t tick;
  };

  std::unique_ptr<state> state_;
};

}  // namespace tarn::io
