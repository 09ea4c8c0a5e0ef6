#include "analyse/made_code.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tarn::analyse {
namespace {

// Reads only files of this user or root, because other users may write anything into theirs.
std::string content_of(const std::string& path, std::uint64_t not_before) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) return {};
  if (static_cast<std::uint64_t>(facts.st_mtime) < not_before) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool take_number(std::string_view& from, std::uint64_t& to) {
  if (from.starts_with("0x")) from.remove_prefix(2);
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), to, 16);
  if (error != std::errc() || end == from.data() + from.size() || *end != ' ') return false;
  from.remove_prefix(static_cast<std::size_t>(end - from.data()) + 1);
  return true;
}

// The headers of a jitdump and of its records (tools/perf/Documentation/jitdump-specification.txt of Linux).
struct dump_header {
  std::uint32_t magic, version, bytes, machine, unused, process;
  std::uint64_t time, flags;
};
struct record_header {
  std::uint32_t kind, bytes;
  std::uint64_t time;
};
struct load_record {
  std::uint32_t process, thread;
  std::uint64_t address, start, size, number;
};
constexpr std::uint32_t dump_magic = 0x4A695444, load = 0;

template <class Record>
bool read_at(std::string_view bytes, std::size_t at, Record& to) {
  if (at > bytes.size() || bytes.size() - at < sizeof to) return false;
  std::memcpy(&to, bytes.data() + at, sizeof to);
  return true;
}

}  // namespace

made_code::made_code(std::uint64_t process, std::uint64_t started) {
  const std::string number = std::to_string(process);
  read_map(content_of("/tmp/perf-" + number + ".map", started));
  for (const char* const folder : {"/tmp/", "./"}) read_dump(content_of(folder + ("jit-" + number + ".dump"), started));
}

void made_code::read_map(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::uint64_t start = 0, bytes = 0;
    if (take_number(line, start) && take_number(line, bytes)) add(start, bytes, line);
  }
}

bool made_code::read_dump(std::string_view bytes) {
  dump_header header;
  if (!read_at(bytes, 0, header) || header.magic != dump_magic || header.bytes < sizeof header) return false;
  record_header each;
  for (std::size_t at = header.bytes; read_at(bytes, at, each) && each.bytes >= sizeof each; at += each.bytes) {
    load_record code;
    constexpr std::size_t before_name = sizeof each + sizeof code;
    if (each.kind != load || each.bytes <= before_name || !read_at(bytes, at + sizeof each, code)) continue;
    std::string_view name = bytes.substr(at + before_name, each.bytes - before_name);
    name = name.substr(0, name.find('\0'));
    add(code.start, code.size, name);
  }
  return true;
}

void made_code::add(std::uint64_t start, std::uint64_t bytes, std::string_view name) {
  if (bytes == 0 || name.empty() || start + bytes < start) return;
  // New code replaces all older functions that it overlaps.
  auto next = functions_.lower_bound(start);
  if (next != functions_.begin() && std::prev(next)->second.end > start) --next;
  while (next != functions_.end() && next->first < start + bytes) next = functions_.erase(next);
  functions_.emplace(start, function{start + bytes, std::string(name)});
}

const std::string* made_code::at(std::uint64_t address) const {
  const auto after = functions_.upper_bound(address);
  if (after == functions_.begin() || std::prev(after)->second.end <= address) return nullptr;
  return &std::prev(after)->second.name;
}

}  // namespace tarn::analyse
