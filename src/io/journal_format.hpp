// The format of a journal's file, for its writer and its reader.
//
//   header, 4 KiB │ chunk │ chunk │ …                           all chunks of one size
//   chunk:  chunk_header │ line │ line │ … │ 0                  a mark of 0 where the next line would begin
//   line:   mark │ tick │ check │ text, filled up to 8 bytes
//
// A chunk belongs to one thread at a time, which fills it from the start to the end. Words have the machine's byte
// order (little-endian wherever Tarn runs). Checksums with the journal's key, a random number, cover everything that a
// reader uses, so that no logged text can look like another line.
//
// A line survives because of the order of its stores (append in journal.cpp; modelled in tests/models/journal.pml). A
// process dies between two instructions, and the stores before that point are in the page:
//   1. mark = part           from here on a reader sees a torn line instead of the end
//   2. text, tick, check
//   3. mark of the next = 0  marks the end, because a chunk that is used again has old bytes there
//   4. mark = whole          the line is complete, and append returns
// If the process dies between 1 and 4, the last line of the chunk is torn. A mark is `whole` only after all stores of
// its line.
#pragma once

#define XXH_INLINE_ALL  // nothing of it is linked
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn::io::journal_format {

inline constexpr std::size_t header_bytes = 4096;
inline constexpr std::uint32_t version = 1;
inline constexpr char magic[8] = {'t', 'a', 'r', 'n', 'j', 'r', 'n', 'l'};
inline constexpr std::uint32_t min_chunk_bytes = 1024;
inline constexpr std::uint32_t max_chunk_bytes = 1u << 30;
inline constexpr std::uint64_t min_chunks = 4;
inline constexpr std::uint64_t max_chunks = 1u << 24;

struct header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t chunk_bytes;
  std::uint64_t chunks;
  std::uint64_t key;
  std::uint64_t check;  // of all before
};

struct chunk_header {
  std::uint64_t number;  // from 1, in the order in which chunks were taken; 0: none. Written last
  std::uint64_t first;   // number of the first line
  std::uint64_t session;
  std::uint64_t check;  // of all before
};

struct line_header {
  std::uint64_t mark;   // bytes, session, condition
  std::uint64_t tick;   // of the processor's clock: which of two threads was first
  std::uint64_t check;  // of text, number, mark and tick
};

enum condition : std::uint8_t { absent = 0, part = 0x5a, whole = 0xa5 };

/// Makes the mark of a line. `session` counts how often the journal was opened; ticks of two sessions cannot be
/// compared.
constexpr std::uint64_t mark_of(condition state, std::uint32_t session, std::size_t bytes) noexcept {
  return std::uint64_t{state} | (std::uint64_t{session} & 0xffffffu) << 8 | std::uint64_t{bytes} << 32;
}
constexpr std::uint8_t condition_of(std::uint64_t mark) noexcept { return static_cast<std::uint8_t>(mark); }
constexpr std::uint32_t session_of(std::uint64_t mark) noexcept {
  return static_cast<std::uint32_t>(mark >> 8) & 0xffffffu;
}
constexpr std::size_t bytes_of(std::uint64_t mark) noexcept { return mark >> 32; }

/// Returns the distance from the start of a line to the start of the next one.
constexpr std::size_t step(std::size_t bytes) noexcept { return (sizeof(line_header) + bytes + 7) / 8 * 8; }

/// Returns the most lines that a chunk can have. So many line numbers are reserved with a chunk.
constexpr std::uint64_t max_lines(std::size_t chunk_bytes) noexcept { return chunk_bytes / sizeof(line_header); }

inline std::uint64_t check_of(const header& head) noexcept { return XXH3_64bits(&head, offsetof(header, check)); }

inline std::uint64_t check_of(const chunk_header& head, std::uint64_t key) noexcept {
  return XXH3_64bits_withSeed(&head, offsetof(chunk_header, check), key);
}

/// Returns true if this chunk was made for this slot. A chunk that was moved to another slot is damage, for those who
/// read and those who append.
inline bool is_chunk_of(const chunk_header& head, std::uint64_t slot, std::uint64_t chunks,
                        std::uint64_t key) noexcept {
  return head.number != 0 && head.check == check_of(head, key) && (head.number - 1) % chunks == slot;
}

/// Returns the checksum of a line. Key, number, mark and tick are added last, so that hashing the text need not wait
/// for the processor's clock, and by an invertible multiplication, so that each value of them gives another checksum.
inline std::uint64_t check_of(const char* text, std::size_t bytes, std::uint64_t mark, std::uint64_t tick,
                              std::uint64_t number, std::uint64_t key) noexcept {
  const std::uint64_t seed = (key + number * 0x9e3779b97f4a7c15u) ^ mark;
  return (XXH3_64bits(text, bytes) ^ seed ^ tick) * 0xd6e8feb86659fd93u;
}

/// Returns null, or the reason why a file with this header is no journal. It does not check the length of the file.
const char* wrong_with(const header& first) noexcept;

/// Walks the lines of one chunk from its first byte on, as far as they can be told apart.
class chunk_walk {
 public:
  /// `chunk` has `chunk_bytes` bytes, and may change meanwhile.
  chunk_walk(const char* chunk, std::size_t chunk_bytes) noexcept : chunk_(chunk), end_(chunk_bytes) {}

  /// Moves to the next line, whole or torn. Returns false at the end, and where the rest cannot be trusted: is_lost()
  /// is then true.
  bool next() noexcept {
    if (is_part_) return false;  // the thread that had this chunk wrote no more
    offset_ += step_;
    step_ = 0;
    if (offset_ + sizeof(line_header) > end_) return false;
    std::memcpy(&line_, chunk_ + offset_, sizeof line_);
    if (line_.mark == 0) return false;
    is_part_ = condition_of(line_.mark) == part;
    const std::size_t bytes = is_part_ ? 0 : bytes_of(line_.mark);
    if ((!is_part_ && condition_of(line_.mark) != whole) || bytes > end_ - offset_ - sizeof line_) {
      is_lost_ = true;
      return false;
    }
    step_ = step(bytes);
    return true;
  }
  const line_header& line() const noexcept { return line_; }
  bool is_torn() const noexcept { return is_part_; }
  bool is_lost() const noexcept { return is_lost_; }
  std::size_t offset() const noexcept { return offset_; }  ///< of the line's mark in the chunk
  const char* text() const noexcept { return chunk_ + offset_ + sizeof line_; }
  std::size_t bytes() const noexcept { return is_part_ ? 0 : bytes_of(line_.mark); }

 private:
  const char* chunk_;
  std::size_t end_;
  std::size_t offset_ = sizeof(chunk_header);
  std::size_t step_ = 0;
  line_header line_{};
  bool is_part_ = false;
  bool is_lost_ = false;
};

}  // namespace tarn::io::journal_format
