#include "profiler/cli/journal_follower.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace tarn::command {

using namespace io::journal_format;

journal_follower::journal_follower(const std::string& path) : file_(io::file::open_to_read(path)) {}

bool journal_follower::is_at(const std::string& path) const {
  struct stat own_status {
  }, named{};
  return ::fstat(file_.descriptor(), &own_status) == 0 && ::stat(path.c_str(), &named) == 0 &&
         own_status.st_ino == named.st_ino && own_status.st_dev == named.st_dev;
}

// Reads `bytes` bytes, or fewer at the end of the file. Returns their number.
std::size_t journal_follower::read_at(void* target, std::size_t bytes, std::uint64_t offset) const {
  std::size_t read_bytes = 0;
  while (read_bytes < bytes) {
    const ssize_t count = ::pread(file_.descriptor(), static_cast<char*>(target) + read_bytes, bytes - read_bytes,
                                  static_cast<off_t>(offset + read_bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw io::error(errno, file_.name(), "cannot be read", offset + read_bytes);
    if (count == 0) break;
    read_bytes += static_cast<std::size_t>(count);
  }
  return read_bytes;
}

// Returns false while the file has no header: it was created, or truncated, just now.
bool journal_follower::read_header() {
  constexpr header no_header{};
  header now{};
  if (read_at(&now, sizeof now, 0) < sizeof now && std::memcmp(now.magic, magic, sizeof magic) == 0) return false;
  if (std::memcmp(&now, &no_header, sizeof now) == 0) return false;
  if (const char* const wrong = wrong_with(now)) {
    throw io::error(EINVAL, file_.name(), wrong, io::error::nowhere, io::error::ending::without_reason);
  }
  if (std::memcmp(&now, &header_, sizeof now) != 0) {  // the first time, or a new journal in the truncated file
    header_ = now;
    positions_.assign(header_.chunks, {});
  }
  return true;
}

void journal_follower::take_chunk(std::uint64_t slot, std::vector<followed_line>& new_lines) {
  const std::uint64_t start = header_bytes + slot * header_.chunk_bytes;
  chunk_position& position = positions_[slot];
  chunk_header head{}, second_head{};
  if (read_at(&head, sizeof head, start) < sizeof head || !is_chunk_of(head, slot, header_.chunks, header_.key)) {
    position = {};
    return;
  }
  if (head.number != position.number) position = {head.number, 0, sizeof head};
  std::uint64_t mark = 0;
  if (position.offset + sizeof(line_header) > header_.chunk_bytes ||
      read_at(&mark, sizeof mark, start + position.offset) < sizeof mark || condition_of(mark) != whole) {
    return;
  }
  // The kernel copies from low to high addresses, so the text of a line is read after its mark, which is stored last.
  chunk_.assign(header_.chunk_bytes, '\0');
  if (read_at(chunk_.data(), chunk_.size(), start) < chunk_.size() ||
      read_at(&second_head, sizeof second_head, start) < sizeof second_head ||
      std::memcmp(chunk_.data(), &second_head, sizeof second_head) != 0 || second_head.number != position.number) {
    return;  // the next call finds another chunk here
  }
  chunk_walk lines(chunk_.data(), chunk_.size());
  std::uint64_t number = head.first, session = head.session, tick = 0;
  while (lines.next() && !lines.is_torn()) {
    const line_header& line = lines.line();
    if (number - head.first >= position.lines) {
      const bool is_whole =
          line.check == check_of(lines.text(), lines.bytes(), line.mark, line.tick, number, header_.key);
      // A damaged line tells neither session nor tick, and follows the line before it.
      if (is_whole) session = session_of(line.mark), tick = line.tick;
      new_lines.push_back({session, tick, number, !is_whole, {}});
      if (is_whole) new_lines.back().text.assign(lines.text(), lines.bytes());
      ++position.lines;
      position.offset = lines.offset() + step(lines.bytes());
    }
    ++number;
  }
}

std::vector<followed_line> journal_follower::take() {
  std::vector<followed_line> new_lines;
  if (!read_header()) return new_lines;
  for (std::uint64_t slot = 0; slot < header_.chunks; ++slot) take_chunk(slot, new_lines);
  std::stable_sort(new_lines.begin(), new_lines.end(), [](const followed_line& left, const followed_line& right) {
    return std::tie(left.session, left.tick) < std::tie(right.session, right.tick);
  });
  return new_lines;
}

}  // namespace tarn::command
