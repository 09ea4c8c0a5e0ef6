#include <tarn/io/journal_reader.hpp>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "io/journal_format.hpp"
#include "platform/files.hpp"

namespace tarn::io {
namespace files = platform::files;
using namespace journal_format;

const char* journal_format::wrong_with(const header& first) noexcept {
  if (std::memcmp(first.magic, magic, sizeof magic) != 0) return "is not a journal";
  if (first.check != check_of(first)) return "is a journal whose header is damaged";
  if (first.version != version) return "is a journal of another version";
  if (first.chunk_bytes < min_chunk_bytes || first.chunk_bytes > max_chunk_bytes || first.chunk_bytes % 8 != 0 ||
      first.chunks < min_chunks || first.chunks > max_chunks) {
    return "is a journal of an impossible size";
  }
  return nullptr;
}

namespace {

// Reads `bytes` bytes at `offset`, fewer at the end of the file. Returns their number.
std::size_t read_at(const file& source, char* buffer, std::size_t bytes, std::uint64_t offset) {
  std::size_t count = 0;
  while (count < bytes) {
    const files::outcome read_result =
        files::read_at(source.descriptor(), buffer + count, bytes - count, offset + count);
    if (read_result == -EINTR || read_result == -EAGAIN) continue;
    if (read_result < 0) throw error(static_cast<int>(-read_result), source.name(), "cannot be read", offset + count);
    if (read_result == 0) break;
    count += static_cast<std::size_t>(read_result);
  }
  return count;
}

// A line with its sort key.
struct placed {
  std::uint64_t session;
  std::uint64_t tick;
  journal_line line;
};

}  // namespace

struct journal_reader::walk {
  journal_reader& reader;
  std::uint64_t key;
  std::vector<placed> entries;

  void chunk(const std::string& chunk, const chunk_header& head) {
    chunk_walk line_walk(chunk.data(), chunk.size());
    std::uint64_t number = head.first;
    // A damaged line has no tick; it keeps that of the line before, so that it is sorted behind it.
    placed last{head.session, 0, {}};
    for (; line_walk.next(); ++number) {
      const line_header& line = line_walk.line();
      const bool is_true = !line_walk.is_torn() && line.check == check_of(line_walk.text(), line_walk.bytes(),
                                                                          line.mark, line.tick, number, key);
      if (is_true) {
        last.session = session_of(line.mark);
        last.tick = line.tick;
        last.line = {number, journal_line::condition::whole, {line_walk.text(), line_walk.bytes()}};
      } else if (line_walk.is_torn()) {
        last.session = session_of(line.mark);
        last.tick = ~std::uint64_t{0};  // nothing came later in that process, or nothing yet
        last.line = {number, journal_line::condition::torn, {}};
        ++reader.torn_;
      } else {
        last.line = {number, journal_line::condition::damaged, {}};
        ++reader.damaged_;
      }
      entries.push_back(last);
    }
    reader.lost_pieces_ += line_walk.is_lost();
  }
};

journal_reader::journal_reader(std::string path) {
  const file source = file::open_to_read(std::move(path));
  header first{};
  read_at(source, reinterpret_cast<char*>(&first), sizeof first, 0);
  if (const char* const defect = wrong_with(first)) {
    throw error(EINVAL, source.name(), defect, error::nowhere, error::ending::without_reason);
  }

  walk whole_walk{*this, first.key, {}};
  std::vector<chunk_header> heads;
  for (std::uint64_t slot = 0; slot < first.chunks; ++slot) {
    const std::uint64_t offset = header_bytes + slot * first.chunk_bytes;
    chunk_header head, second_head;
    if (read_at(source, reinterpret_cast<char*>(&head), sizeof head, offset) < sizeof head) {
      lost_pieces_ += first.chunks - slot;
      break;
    }
    if (head.number == 0) continue;
    if (!is_chunk_of(head, slot, first.chunks, first.key)) {
      ++lost_pieces_;
      continue;
    }
    std::string chunk(first.chunk_bytes, '\0');
    const std::size_t bytes_read = read_at(source, chunk.data(), chunk.size(), offset);
    // If the header has changed meanwhile, the chunk was taken again, and its lines, the oldest ones, are overwritten.
    if (bytes_read < sizeof second_head ||
        read_at(source, reinterpret_cast<char*>(&second_head), sizeof second_head, offset) < sizeof second_head ||
        std::memcmp(&head, &second_head, sizeof head) != 0 || std::memcmp(chunk.data(), &head, sizeof head) != 0) {
      continue;
    }
    lost_pieces_ += bytes_read < chunk.size();
    chunks_.push_back(std::move(chunk));
    heads.push_back(head);
  }
  // The chunks no longer move, so that views of them stay valid.
  for (std::size_t index = 0; index < chunks_.size(); ++index) whole_walk.chunk(chunks_[index], heads[index]);
  std::stable_sort(whole_walk.entries.begin(), whole_walk.entries.end(), [](const placed& left, const placed& right) {
    // Where the counter is slow, as on Arm, lines of several chunks may have one time.
    return std::tuple(left.session, left.tick, left.line.number) <
           std::tuple(right.session, right.tick, right.line.number);
  });
  lines_.reserve(whole_walk.entries.size());
  for (const placed& entry : whole_walk.entries) lines_.push_back(entry.line);
}

}  // namespace tarn::io
