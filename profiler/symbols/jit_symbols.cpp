#include "profiler/symbols/jit_symbols.hpp"

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

bool take_number(std::string_view& text, std::uint64_t& value) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
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
bool read_at(std::string_view bytes, std::size_t offset, Record& record) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof record) return false;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return true;
}

}  // namespace

jit_symbols::jit_symbols(std::uint64_t process, std::uint64_t started) {
  const std::string number = std::to_string(process);
  read_map(content_of("/tmp/perf-" + number + ".map", started));
  for (const char* const folder : {"/tmp/", "./"}) read_dump(content_of(folder + ("jit-" + number + ".dump"), started));
}

void jit_symbols::read_map(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::uint64_t start = 0, bytes = 0;
    if (take_number(line, start) && take_number(line, bytes)) add(start, bytes, line);
  }
}

bool jit_symbols::read_dump(std::string_view bytes) {
  dump_header header;
  if (!read_at(bytes, 0, header) || header.magic != dump_magic || header.bytes < sizeof header) return false;
  record_header record;
  for (std::size_t offset = header.bytes; read_at(bytes, offset, record) && record.bytes >= sizeof record;
       offset += record.bytes) {
    load_record code;
    constexpr std::size_t before_name = sizeof record + sizeof code;
    if (record.kind != load || record.bytes <= before_name || !read_at(bytes, offset + sizeof record, code)) continue;
    std::string_view name = bytes.substr(offset + before_name, record.bytes - before_name);
    name = name.substr(0, name.find('\0'));
    add(code.start, code.size, name);
  }
  return true;
}

void jit_symbols::add(std::uint64_t start, std::uint64_t bytes, std::string_view name) {
  if (bytes == 0 || name.empty() || start + bytes < start) return;
  // New code replaces all older functions that it overlaps.
  auto next = functions_.lower_bound(start);
  if (next != functions_.begin() && std::prev(next)->second.end > start) --next;
  while (next != functions_.end() && next->first < start + bytes) next = functions_.erase(next);
  functions_.emplace(start, function{start + bytes, std::string(name)});
}

const std::string* jit_symbols::name_at(std::uint64_t address) const {
  const auto after = functions_.upper_bound(address);
  if (after == functions_.begin() || std::prev(after)->second.end <= address) return nullptr;
  return &std::prev(after)->second.name;
}

}  // namespace tarn::analyse
