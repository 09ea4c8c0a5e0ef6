#include "profiler/preload/records/python_codes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "profiler/format/utf8.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {
namespace {

// A table with open addressing, at most half full, of the hashes of recorded code objects. A slot is filled once: its
// start is stored first, then its hash is published.
struct slot {
  std::atomic<std::uint64_t> hash, start;
};
constexpr std::size_t slot_count = std::size_t{2} * format::max_python_codes;
constexpr std::size_t max_text_bytes = 1024, max_line_bytes = std::size_t{1} << 16;

constinit std::atomic<slot*> table = nullptr;
constinit lock adding;
constinit std::uint64_t next_start = format::first_python_address;

// A string of CPython, whose characters have `width` bytes.
struct string {
  std::uintptr_t characters = 0;
  std::size_t length = 0;
  unsigned width = 1;
};

bool read_string(const python_types& types, std::uintptr_t address, checked_memory& memory, string& result) noexcept {
  const format::python_layout& layout = *types.layout;
  std::uintptr_t type = 0;
  std::uint32_t state = 0;
  if (!memory.read(address + sizeof type, type) || type != types.string) return false;
  if (!memory.read(address + layout.string_length, result.length) || !memory.read(address + layout.string_state, state))
    return false;
  state >>= layout.string_kind_shift;
  const unsigned width = state & 7;
  const bool is_compact = (state >> 3 & 1) != 0, is_ascii = (state >> 4 & 1) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return false;
  result.width = width;
  result.characters = address + (is_ascii ? layout.string_ascii : layout.string_other);
  result.length = std::min(result.length, max_text_bytes);
  return result.length == 0 || memory.has(result.characters, result.length * width);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
  return hash ^ hash >> 32;
}

std::uint64_t mixed(std::uint64_t hash, const string& text) noexcept {
  hash = mixed(hash, text.length);
  const auto* const characters = reinterpret_cast<const char*>(text.characters);
  const std::size_t bytes = text.length * text.width;
  for (std::size_t index = 0; index < bytes; index += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, characters + index, std::min(sizeof word, bytes - index));
    hash = mixed(hash, word);
  }
  return hash;
}

std::uint32_t character_at(const string& text, std::size_t index) noexcept {
  std::uint32_t character = 0;
  std::memcpy(&character, reinterpret_cast<const char*>(text.characters) + index * text.width, text.width);
  return character;
}

// Writes the text as UTF-8 to `target`, unless that is null, and returns its size.
std::uint32_t encode(const string& text, char* target) noexcept {
  std::uint32_t size = 0;
  const auto put = [&](std::uint32_t byte) {
    if (target != nullptr) target[size] = static_cast<char>(byte);
    ++size;
  };
  for (std::size_t index = 0; index < text.length; ++index) format::encode_utf8(character_at(text, index), put);
  return size;
}

// Holds what becomes the record of a code object.
struct description {
  string file, function;
  std::uintptr_t lines = 0;
  std::size_t line_bytes = 0;
  std::uint32_t line = 0;
  std::uint64_t bytes = 0;  // of its instructions
};

bool describe(const python_types& types, std::uintptr_t address, checked_memory& memory, description& result,
              std::uint64_t& hash) noexcept {
  const format::python_layout& layout = *types.layout;
  constexpr std::uint64_t max_units = std::uint64_t{1} << 24;
  std::uintptr_t type = 0, file = 0, function = 0, lines = 0;
  std::uint64_t units = 0;
  if (!memory.read(address + sizeof type, type) || type != types.code) return false;
  if (!memory.has(address, layout.code_instructions)) return false;
  memory.read(address + layout.code_units, units);
  memory.read(address + layout.code_line, result.line);
  memory.read(address + layout.code_file, file);
  memory.read(address + layout.code_function, function);
  memory.read(address + layout.code_lines, lines);
  if (units == 0 || units > max_units) return false;
  if (!read_string(types, file, memory, result.file) || !read_string(types, function, memory, result.function))
    return false;
  result.bytes = units * 2;
  std::uintptr_t lines_type = 0;
  if (memory.read(lines + sizeof type, lines_type) && lines_type == types.bytes) {
    result.lines = lines + layout.bytes_text;
    memory.read(lines + layout.bytes_length, result.line_bytes);
  }
  hash = mixed(mixed(mixed(address, units), result.line), lines);
  hash = mixed(mixed(hash, result.function), result.file) | 1;  // 0 marks a free slot
  return true;
}

slot& find(slot* slots, std::uint64_t hash) noexcept {
  for (std::size_t index = hash >> 20;; ++index) {
    slot& entry = slots[index % slot_count];
    const std::uint64_t stored = entry.hash.load(std::memory_order_acquire);
    if (stored == hash || stored == 0) return entry;
  }
}

// The caller holds `adding`. Returns the start of the new record; 0 when there is no room.
std::uint64_t record(const description& code, checked_memory& memory) noexcept {
  const std::uint32_t number = header().python_codes.load(std::memory_order_relaxed);
  if (number == format::max_python_codes) return 0;
  const bool has_lines =
      code.line_bytes != 0 && code.line_bytes <= max_line_bytes && memory.has(code.lines, code.line_bytes);
  const std::size_t line_bytes = has_lines ? code.line_bytes : 0;
  const std::uint32_t file_bytes = encode(code.file, nullptr), function_bytes = encode(code.function, nullptr);
  const format::offset offset = hand_out(sizeof(format::python_code_record) + file_bytes + function_bytes + line_bytes);
  if (offset == 0) return 0;
  auto& new_record = *record_at<format::python_code_record>(offset);
  new_record.image = image();
  new_record.line = code.line;
  new_record.start = next_start;
  new_record.bytes = code.bytes;
  new_record.file_bytes = file_bytes;
  new_record.function_bytes = function_bytes;
  new_record.line_bytes = static_cast<std::uint32_t>(line_bytes);
  char* text = reinterpret_cast<char*>(&new_record + 1);
  text += encode(code.file, text);
  text += encode(code.function, text);
  if (line_bytes != 0) std::memcpy(text, reinterpret_cast<const void*>(code.lines), line_bytes);
  next_start += code.bytes + 2;  // a frame stands one byte after its instruction
  header().python_code_at[number].store(offset, std::memory_order_release);
  header().python_codes.store(number + 1, std::memory_order_release);
  return new_record.start;
}

std::uint64_t add(const description& code, std::uint64_t hash, checked_memory& memory) noexcept {
  const holding guard(adding);
  slot* slots = table.load(std::memory_order_relaxed);
  if (slots == nullptr) {
    slots = static_cast<slot*>(map(slot_count * sizeof(slot)));
    if (slots == nullptr) return 0;
    table.store(slots, std::memory_order_release);  // release: a thread that sees it sees its slots
  }
  slot& entry = find(slots, hash);
  if (entry.hash.load(std::memory_order_relaxed) == hash) return entry.start.load(std::memory_order_relaxed);
  const std::uint64_t start = record(code, memory);
  if (start == 0) return 0;
  entry.start.store(start, std::memory_order_relaxed);
  entry.hash.store(hash, std::memory_order_release);
  return start;
}

}  // namespace

bool find_python_code(const python_types& types, std::uintptr_t address, checked_memory& memory,
                      python_code& code_found) noexcept {
  description code;
  std::uint64_t hash = 0;
  if (!describe(types, address, memory, code, hash)) return false;
  code_found.instructions = address + types.layout->code_instructions;
  code_found.bytes = code.bytes;
  if (slot* const slots = table.load(std::memory_order_acquire)) {
    const slot& entry = find(slots, hash);
    if (entry.hash.load(std::memory_order_acquire) == hash) {
      code_found.start = entry.start.load(std::memory_order_relaxed);
      return true;
    }
  }
  code_found.start = add(code, hash, memory);
  return code_found.start != 0;
}

met_python_codes::entry met_python_codes::described(const python_types& types, std::uintptr_t address) noexcept {
  const format::python_layout& layout = *types.layout;
  const auto read = [](std::uintptr_t source, auto& value) {
    std::memcpy(&value, reinterpret_cast<const void*>(source), sizeof value);
  };
  entry result = {};
  result.address = address;
  read(address + layout.code_units, result.units);
  read(address + layout.code_line, result.line);
  read(address + layout.code_file, result.file);
  read(address + layout.code_function, result.function);
  read(address + layout.code_lines, result.lines);
  // The characters of a string that is not plain begin later, and its end is not read whole.
  read(result.function + layout.string_length, result.function_length);
  if (result.function_length >= sizeof result.function_end)
    read(result.function + layout.string_ascii + result.function_length - sizeof result.function_end,
         result.function_end);
  return result;
}

bool met_python_codes::find(const python_types& types, std::uintptr_t address, checked_memory& memory,
                            python_code& code_found) noexcept {
  entry& slot_of_code = entries_[address / 32 % count];
  std::uintptr_t type = 0;
  if (slot_of_code.address == address) {
    std::memcpy(&type, reinterpret_cast<const void*>(address + sizeof type), sizeof type);
    entry now = {};
    if (type == types.code) now = described(types, address);
    now.code = slot_of_code.code;
    if (now == slot_of_code) {
      code_found = slot_of_code.code;
      return true;
    }
  }
  slot_of_code.address = 0;
  if (!find_python_code(types, address, memory, code_found)) return false;
  slot_of_code = described(types, address);
  slot_of_code.code = code_found;
  return true;
}

void begin_python_codes_anew() noexcept {
  adding.begin_anew();
  unmap(table.exchange(nullptr, std::memory_order_relaxed), slot_count * sizeof(slot));
}

}  // namespace tarn::preload
