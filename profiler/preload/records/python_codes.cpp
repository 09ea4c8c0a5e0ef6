#include "profiler/preload/records/python_codes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "profiler/format/utf8.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/base/readable.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {

constinit std::atomic<std::uint64_t> freed_python_codes = 0;

namespace {

using freeing_function = void (*)(void*);
constinit freeing_function free_code = nullptr;
constinit freeing_function* hooked_pointer = nullptr;  // in CPython's type of code objects
constinit std::uint64_t counted_before = 0;            // freed_python_codes before it was left

// Takes the place of CPython's function, which is called next, without a frame of its own on the stack.
void count_and_free(void* code) noexcept {
  freed_python_codes.fetch_add(1, std::memory_order_relaxed);
  return free_code(code);
}

// Returns false where the pointer is not `present_function`, as where another tool has replaced it, or CPython is gone.
bool replace_freeing_function(freeing_function present_function, freeing_function new_function) noexcept {
  if (hooked_pointer == nullptr || !is_word_readable(reinterpret_cast<std::uintptr_t>(hooked_pointer))) return false;
  return std::atomic_ref<freeing_function>(*hooked_pointer)
      .compare_exchange_strong(present_function, new_function, std::memory_order_release);
}

// A table with open addressing, at most half full, of the hashes of recorded code objects. A slot is filled once: its
// record is stored first, then its hash is published.
struct slot {
  std::atomic<std::uint64_t> hash;
  std::atomic<const format::python_code_record*> record;
};
constexpr std::size_t slot_count = std::size_t{2} * format::max_python_codes;
constexpr std::size_t max_text_bytes = 1024, max_line_bytes = std::size_t{1} << 20;
constexpr std::size_t line_end_bytes = 512;  // of a table of lines, at each end: so much tells it from another one

constinit std::atomic<slot*> table = nullptr;
constinit lock adding;
constinit std::uint64_t next_start = format::first_python_address + format::unknown_python_bytes;

// Reads memory that is known to be there, with the interface of checked_memory.
struct present_memory {
  static bool has(std::uintptr_t, std::size_t) noexcept { return true; }
  template <class Value>
  static bool read(std::uintptr_t address, Value& value) noexcept {
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return true;
  }
};

// Reads all of a description that is in the code object itself.
template <class Memory>
bool read_object(const python_types& types, std::uintptr_t address, Memory& memory,
                 python_description& result) noexcept {
  const format::python_layout& layout = *types.layout;
  constexpr std::uint64_t max_units = std::uint64_t{1} << 24;
  std::uintptr_t type = 0;
  if (!memory.read(address + sizeof type, type) || type != types.code) return false;
  if (!memory.has(address, layout.code_instructions)) return false;
  present_memory::read(address + layout.code_units, result.units);
  present_memory::read(address + layout.code_line, result.line);
  present_memory::read(address + layout.code_file, result.file_object);
  present_memory::read(address + layout.code_function, result.function_object);
  present_memory::read(address + layout.code_lines, result.lines_object);
  return result.units != 0 && result.units <= max_units;
}

template <class Memory>
bool read_text(const python_types& types, std::uintptr_t address, Memory& memory, python_text& result) noexcept {
  const format::python_layout& layout = *types.layout;
  std::uintptr_t type = 0;
  std::uint32_t state = 0;
  if (!memory.read(address + sizeof type, type) || type != types.string) return false;
  if (!memory.read(address + layout.string_length, result.length) || !memory.read(address + layout.string_state, state))
    return false;
  state >>= layout.string_kind_shift;
  const bool is_compact = (state >> 3 & 1) != 0;
  result.is_ascii = (state >> 4 & 1) != 0;
  result.width = state & 7;
  if (!is_compact || (result.width != 1 && result.width != 2 && result.width != 4)) return false;
  result.characters = address + (result.is_ascii ? layout.string_ascii : layout.string_other);
  result.length = std::min(result.length, max_text_bytes);
  return true;
}

// Reads where the texts are, and how long.
template <class Memory>
bool read_texts(const python_types& types, Memory& memory, python_description& result) noexcept {
  if (!read_text(types, result.file_object, memory, result.file) ||
      !read_text(types, result.function_object, memory, result.function))
    return false;
  std::uintptr_t type = 0;
  if (memory.read(result.lines_object + sizeof type, type) && type == types.bytes)
    memory.read(result.lines_object + types.layout->bytes_length, result.line_bytes);
  if (result.line_bytes > max_line_bytes) result.line_bytes = 0;
  return true;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
  return hash ^ hash >> 32;
}

// Four chains of multiplications at once take half the time of one.
std::uint64_t mixed(std::uint64_t hash, std::uintptr_t address, std::size_t bytes) noexcept {
  const auto word_at = [&](std::size_t index) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(address) + index, sizeof word);
    return word;
  };
  constexpr std::size_t word = sizeof hash;
  hash = mixed(hash, bytes);
  std::size_t index = 0;
  if (bytes >= 4 * word) {
    std::uint64_t chains[4] = {hash, hash + 1, hash + 2, hash + 3};
    for (; bytes - index >= 4 * word; index += 4 * word) {
      for (std::size_t chain = 0; chain < 4; ++chain)
        chains[chain] = mixed(chains[chain], word_at(index + chain * word));
    }
    hash = mixed(mixed(mixed(chains[0], chains[1]), chains[2]), chains[3]);
  }
  for (; bytes - index >= word; index += word) hash = mixed(hash, word_at(index));
  std::uint64_t last_word = 0;
  std::memcpy(&last_word, reinterpret_cast<const char*>(address) + index, bytes - index);
  return mixed(hash, last_word);
}

std::uintptr_t lines_of(const python_types& types, const python_description& code) noexcept {
  return code.lines_object + types.layout->bytes_text;
}

std::uint64_t mixed(std::uint64_t hash, const python_text& text) noexcept {
  return mixed(mixed(hash, text.width), text.characters, text.length * text.width);
}

// The texts must be there. Of a long table of lines the ends are enough.
std::uint64_t hash_of(const python_types& types, const python_description& code) noexcept {
  std::uint64_t hash = mixed(mixed(mixed(mixed(0, code.units), code.line), code.file), code.function);
  const std::uintptr_t lines = lines_of(types, code);
  const std::size_t first = std::min(code.line_bytes, line_end_bytes);
  const std::size_t last = std::min(code.line_bytes - first, line_end_bytes);
  hash = mixed(mixed(hash, code.line_bytes), lines, first);
  return mixed(hash, lines + code.line_bytes - last, last) | 1;  // 0 marks a free slot
}

std::uint32_t character_at(const python_text& text, std::size_t index) noexcept {
  std::uint32_t character = 0;
  std::memcpy(&character, reinterpret_cast<const char*>(text.characters) + index * text.width, text.width);
  return character;
}

// Writes the text as UTF-8 to `target`, unless that is null, and returns its size.
std::uint32_t encode(const python_text& text, char* target) noexcept {
  std::uint32_t size = 0;
  const auto put = [&](std::uint32_t byte) {
    if (target != nullptr) target[size] = static_cast<char>(byte);
    ++size;
  };
  for (std::size_t index = 0; index < text.length; ++index) format::encode_utf8(character_at(text, index), put);
  return size;
}

std::uint64_t bytes_of(const python_description& code) noexcept { return code.units * 2; }

// Returns false where a part of it cannot be read.
bool describe(const python_types& types, std::uintptr_t address, checked_memory& memory,
              python_description& result) noexcept {
  result = {};
  if (!read_object(types, address, memory, result) || !read_texts(types, memory, result)) return false;
  for (const python_text* text : {&result.file, &result.function}) {
    if (text->length != 0 && !memory.has(text->characters, text->length * text->width)) return false;
  }
  if (result.line_bytes != 0 && !memory.has(lines_of(types, result), result.line_bytes)) result.line_bytes = 0;
  return true;
}

slot& find(slot* slots, std::uint64_t hash) noexcept {
  for (std::size_t index = hash >> 20;; ++index) {
    slot& entry = slots[index % slot_count];
    const std::uint64_t stored = entry.hash.load(std::memory_order_acquire);
    if (stored == hash || stored == 0) return entry;
  }
}

// The caller holds `adding`. Returns null when there is no room.
const format::python_code_record* record(const python_types& types, const python_description& code) noexcept {
  const std::uint32_t number = header().python_codes.load(std::memory_order_relaxed);
  if (number == format::max_python_codes) return nullptr;
  const std::uint32_t file_bytes = encode(code.file, nullptr), function_bytes = encode(code.function, nullptr);
  const format::offset offset =
      hand_out(sizeof(format::python_code_record) + file_bytes + function_bytes + code.line_bytes);
  if (offset == 0) return nullptr;
  auto& new_record = *record_at<format::python_code_record>(offset);
  new_record.image = image();
  new_record.line = code.line;
  new_record.start = next_start;
  new_record.bytes = bytes_of(code);
  new_record.file_bytes = file_bytes;
  new_record.function_bytes = function_bytes;
  new_record.line_bytes = static_cast<std::uint32_t>(code.line_bytes);
  char* text = reinterpret_cast<char*>(&new_record + 1);
  text += encode(code.file, text);
  text += encode(code.function, text);
  std::memcpy(text, reinterpret_cast<const void*>(lines_of(types, code)), code.line_bytes);
  next_start += bytes_of(code) + 2;  // a frame stands one byte after its instruction
  header().python_code_at[number].store(offset, std::memory_order_release);
  header().python_codes.store(number + 1, std::memory_order_release);
  return &new_record;
}

const format::python_code_record* add(const python_types& types, const python_description& code,
                                      std::uint64_t hash) noexcept {
  const holding guard(adding);
  slot* slots = table.load(std::memory_order_relaxed);
  if (slots == nullptr) {
    slots = static_cast<slot*>(map(slot_count * sizeof(slot)));
    if (slots == nullptr) return nullptr;
    table.store(slots, std::memory_order_release);  // release: a thread that sees it sees its slots
  }
  slot& entry = find(slots, hash);
  if (entry.hash.load(std::memory_order_relaxed) == hash) return entry.record.load(std::memory_order_relaxed);
  const format::python_code_record* const new_record = record(types, code);
  if (new_record == nullptr) return nullptr;
  entry.record.store(new_record, std::memory_order_relaxed);
  entry.hash.store(hash, std::memory_order_release);
  return new_record;
}

// Finds the record of a code object whose texts are there, or makes it. Returns null when there is no room.
const format::python_code_record* record_of(const python_types& types, const python_description& code) noexcept {
  const std::uint64_t hash = hash_of(types, code);
  if (slot* const slots = table.load(std::memory_order_acquire)) {
    const slot& entry = find(slots, hash);
    if (entry.hash.load(std::memory_order_acquire) == hash) return entry.record.load(std::memory_order_relaxed);
  }
  const bool has_room = header().python_codes.load(std::memory_order_relaxed) < format::max_python_codes;
  return has_room ? add(types, code, hash) : nullptr;
}

python_code code_of(const python_types& types, std::uintptr_t address,
                    const format::python_code_record* record) noexcept {
  const std::uintptr_t instructions = address + types.layout->code_instructions;
  return record == nullptr ? python_code{instructions, 0, format::unknown_python_address}
                           : python_code{instructions, record->bytes, record->start};
}

bool is_equal(const python_text& text, const char* copy, std::size_t copy_bytes) noexcept {
  if (text.is_ascii)
    return text.length == copy_bytes &&
           std::memcmp(reinterpret_cast<const void*>(text.characters), copy, copy_bytes) == 0;
  if (encode(text, nullptr) != copy_bytes) return false;
  bool is_same = true;
  const auto compare = [&](std::uint32_t byte) { is_same = is_same && static_cast<char>(byte) == *copy++; };
  for (std::size_t index = 0; index < text.length; ++index) format::encode_utf8(character_at(text, index), compare);
  return is_same;
}

// Compares as much as hash_of() reads.
bool has_equal_lines(const python_types& types, const python_description& code, const char* copy) noexcept {
  const auto* const lines = reinterpret_cast<const char*>(lines_of(types, code));
  const std::size_t first = std::min(code.line_bytes, line_end_bytes);
  const std::size_t last = std::min(code.line_bytes - first, line_end_bytes), last_place = code.line_bytes - last;
  return std::memcmp(lines, copy, first) == 0 && std::memcmp(lines + last_place, copy + last_place, last) == 0;
}

}  // namespace

bool find_python_code(const python_types& types, std::uintptr_t address, checked_memory& memory,
                      python_code& code_found) noexcept {
  python_description code;
  if (!describe(types, address, memory, code)) return false;
  code_found = code_of(types, address, record_of(types, code));
  return true;
}

// Each part is read only when the part that leads to it is the same as before.
bool met_python_codes::is_same(const python_types& types, const entry& met) noexcept {
  present_memory memory;
  python_description now;
  const python_description& before = met.description;
  if (!read_object(types, met.address, memory, now) || now.file_object != before.file_object ||
      now.function_object != before.function_object || now.lines_object != before.lines_object)
    return false;
  if (!read_texts(types, memory, now) || now != before) return false;
  const format::python_code_record& record = *met.record;
  const char* const copy = reinterpret_cast<const char*>(&record + 1);
  const file file_of_code = {now.file_object, met.file_hash};
  if (file_of_stack_ != file_of_code && !is_equal(now.file, copy, record.file_bytes)) return false;
  file_of_stack_ = file_of_code;
  return is_equal(now.function, copy + record.file_bytes, record.function_bytes) &&
         has_equal_lines(types, now, copy + record.file_bytes + record.function_bytes);
}

bool met_python_codes::find(const python_types& types, std::uintptr_t address, checked_memory& memory,
                            python_code& code_found) noexcept {
  if (last_.address != address) {
    entry& met = entries_[address / 32 % count];
    const bool is_there = met.address == address && met.freed == freed_ && freed_ != 0;
    if (!is_there && (met.address != address || !is_same(types, met))) {
      met.address = 0;
      if (!describe(types, address, memory, met.description)) return false;
      met.record = record_of(types, met.description);
      met.file_hash = mixed(0, met.description.file);
      met.code = code_of(types, address, met.record);
      if (met.record != nullptr) met.address = address;
    }
    // An object that is being freed has no references any more.
    met.freed = python_word(address) == 0 ? 0 : freed_;
    met.code.is_watched = met.freed != 0;
    last_ = {address, met.code};
  }
  code_found = last_.code;
  return true;
}

void count_freed_python_codes(const python_types& types) noexcept {
  auto& pointer = *reinterpret_cast<freeing_function*>(types.code + types.layout->type_free);
  if (pointer == nullptr || pointer == count_and_free) return;
  free_code = pointer;
  hooked_pointer = &pointer;
  resume_python_codes();
}

void resume_python_codes() noexcept {
  if (replace_freeing_function(free_code, count_and_free))
    freed_python_codes.store(++counted_before, std::memory_order_relaxed);
}

void leave_python_codes() noexcept {
  if (replace_freeing_function(count_and_free, free_code))
    counted_before = freed_python_codes.exchange(0, std::memory_order_relaxed);
}

void begin_python_codes_anew() noexcept {
  adding.begin_anew();
  unmap(table.exchange(nullptr, std::memory_order_relaxed), slot_count * sizeof(slot));
}

}  // namespace tarn::preload
