// A log that survives the death of its process at any instruction, and whose append makes no system call.
#pragma once

#include <tarn/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tarn::io {

struct journal_options {
  /// Size of a new file, all of it allocated at once. When it is full, the oldest chunk is used again: a journal holds
  /// the newest lines, about as many bytes. A file that is there keeps the size that it was made with.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  /// What a thread takes for itself at a time, and a little more than the longest line. A power of two, from 1 KiB on.
  std::uint32_t chunk = 64 * 1024;
  /// Threads that can be inside append() at the same moment without one waiting for another; rounded down to a power of
  /// two.
  unsigned lanes = 16;
  unsigned mode = 0644;  ///< of a new file, less the umask
  /// Bytes whose pages are had at hand when the journal is opened. Lines beyond cost a page fault for each 4 KiB, the
  /// first time around.
  std::uint64_t prepare = std::uint64_t{64} << 20;
};

/// The file is mapped, and a line that is in it is the system's: it is there after SIGKILL, abort() or a fault,
/// whatever instruction came last. It is not after a power failure; for that there is sync(). `journal_reader`, and
/// `tarn journal`, read it, also while it is written.
///
/// append() may be called by any number of threads, and by signal handlers; no other function by two at once. Threads
/// write into chunks of their own, so that they do not slow each other. One process at a time opens a journal; a forked
/// child must open one of its own, and append() throws std::logic_error there.
class journal {
 public:
  /// Opens the journal in `path`, or makes one. Throws io::error when another process has it open, when it is not a
  /// journal (the file is then unchanged), when there is no room.
  explicit journal(std::string path, journal_options options = {});
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;
  ~journal();

  /// Once it has returned, the line will be read back, whole. Returns its number: unique in the journal, growing within
  /// each thread; 1, 2, 3 … when one thread appends. Throws std::length_error for a line that is longer than
  /// longest_line(), and has then done nothing. No system call, no allocation, no lock: a copy and a checksum of the
  /// line, one uncontended atomic exchange. (Exactly: should more threads than `lanes` be inside at once, one yields.)
  std::uint64_t append(std::string_view line);

  /// Makes the line in its place: `fill(char* place, std::size_t room)` writes up to `room` bytes and returns how many
  /// the line has. If those are more, it is called once more with as much room. Throws what `fill` throws, too; there
  /// is no line then. `fill` must not append to this journal.
  template <class Fill>
  std::uint64_t append_with(Fill&& fill) {
    entry line(*this);
    std::size_t size = fill(line.place, line.room);
    if (size > line.room) {
      line.turn(size);
      size = fill(line.place, line.room);
    }
    return line.commit(size < line.room ? size : line.room);
  }

  std::size_t longest_line() const noexcept;
  /// Waits until everything that was appended before is on the disk.
  void sync();
  const std::string& path() const noexcept;

 private:
  struct state;
  struct lane;

  /// A line that is being written. Ends without one when it is not committed.
  struct entry {
    explicit entry(journal& of);
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry();
    void turn(std::size_t size);
    std::uint64_t commit(std::size_t size) noexcept;

    journal::state& all;
    lane& mine;
    char* place;
    std::size_t room;
  };

  std::unique_ptr<state> state_;
};

}  // namespace tarn::io
