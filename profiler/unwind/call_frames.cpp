#include "profiler/unwind/call_frames.hpp"

#include <cstddef>
#include <cstring>

namespace tarn::unwind {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t frame_register = 6, stack_register = 7, return_register = 16;
#elif defined(__aarch64__)
constexpr std::uint64_t frame_register = 29, stack_register = 31, return_register = 30;
#endif

// These are the pointer encodings that ELF linkers and compilers use for code here.
constexpr unsigned char absolute_pointer = 0x00, relative_4 = 0x1b, table_4 = 0x3b, unsigned_4 = 0x03, omitted = 0xff;

class bytes {
 public:
  bytes(const unsigned char* start, const unsigned char* end) : position_(start), end_(end) {}
  bool is_at_end() const { return position_ >= end_; }
  const unsigned char* position() const { return position_; }
  void skip(std::uint64_t size) {
    position_ = size > static_cast<std::uint64_t>(end_ - position_) ? end_ : position_ + size;
  }
  template <class Number>
  Number read_fixed() {
    Number value{};
    if (static_cast<std::size_t>(end_ - position_) >= sizeof value) std::memcpy(&value, position_, sizeof value);
    skip(sizeof value);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    unsigned char byte = 0x80;
    for (unsigned shift = 0; (byte & 0x80) != 0 && !is_at_end(); shift += 7) {
      byte = read_fixed<unsigned char>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
    }
    return value;
  }
  std::int64_t signed_number() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0x80;
    while ((byte & 0x80) != 0 && !is_at_end()) {
      byte = read_fixed<unsigned char>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }
  // Reads a pointer in this `encoding`. Returns false for an encoding that is not supported here.
  bool pointer(unsigned char encoding, std::uintptr_t& value) {
    const auto address = reinterpret_cast<std::uintptr_t>(position_);
    if (encoding == relative_4) return value = address + static_cast<std::uintptr_t>(read_fixed<std::int32_t>()), true;
    if (encoding == absolute_pointer) return value = read_fixed<std::uint64_t>(), true;
    return false;
  }

 private:
  const unsigned char* position_;
  const unsigned char* end_;
};

// Describes where to find the caller's three registers. A row is made from it.
struct rules {
  std::uint64_t base = stack_register;  // the caller's stack pointer is this register
  std::int64_t up = 0;                  // plus this
  bool has_expression = false;
  struct rule {
    enum { unchanged, stored, undefined, unsupported } kind = unchanged;
    std::int64_t offset = 0;  // from the caller's stack pointer
  } frame, ret;

  rule* rule_of(std::uint64_t number) {
    return number == frame_register ? &frame : number == return_register ? &ret : nullptr;
  }
};

struct common {  // the CIE (common information entry)
  std::uint64_t code_step = 1;
  std::int64_t data_step = 1;
  unsigned char encoding = absolute_pointer;
  bool is_augmented = false;
  bool is_signal_frame = false;
  bytes instructions{nullptr, nullptr};
};

bool read_common(const unsigned char* start, const unsigned char* end, common& result) {
  bytes reader(start, end);
  const auto length = reader.read_fixed<std::uint32_t>();
  if (length == 0 || length >= 0xfffffff0U || length > static_cast<std::uint64_t>(end - reader.position()))
    return false;
  reader = bytes(reader.position(), reader.position() + length);
  if (reader.read_fixed<std::uint32_t>() != 0) return false;  // it is not a CIE
  const auto version = reader.read_fixed<unsigned char>();
  if (version != 1 && version != 3) return false;
  const unsigned char* letter = reader.position();
  while (reader.read_fixed<char>() != '\0' && !reader.is_at_end()) {
  }
  if (reader.is_at_end()) return false;
  result.code_step = reader.number();
  result.data_step = reader.signed_number();
  const std::uint64_t column = version == 1 ? reader.read_fixed<unsigned char>() : reader.number();
  if (column != return_register) return false;
  if (*letter == 'z') {
    result.is_augmented = true;
    const std::uint64_t size = reader.number();
    bytes data = reader;
    reader.skip(size);
    for (++letter; *letter != '\0'; ++letter) {
      if (*letter == 'R') {
        result.encoding = data.read_fixed<unsigned char>();
      } else if (*letter == 'P') {
        const auto encoding = data.read_fixed<unsigned char>();
        data.skip((encoding & 0x0f) == 0x0b || (encoding & 0x0f) == 0x03 ? 4 : 8);
      } else if (*letter == 'L') {
        data.skip(1);
      } else if (*letter == 'S') {
        result.is_signal_frame = true;
      } else if (*letter != 'B') {
        return false;
      }
    }
  } else if (*letter != '\0') {
    return false;
  }
  result.instructions = reader;
  return true;
}

// Runs the instructions up to `address`. Returns false on an unknown instruction.
bool run(bytes program, const common& common_entry, std::uintptr_t start, std::uintptr_t address, const rules& initial,
         rules& now) {
  constexpr std::size_t depth = 8;
  rules saved_rules[depth];
  std::size_t saved_count = 0;
  std::uintptr_t location = start;
  const auto put = [&](std::uint64_t number, decltype(rules::rule::kind) kind, std::int64_t offset = 0) {
    if (rules::rule* const rule = now.rule_of(number)) *rule = {kind, offset};
  };
  const auto scaled = [&](auto steps) {  // without a sign, as the product may overflow in a broken file
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(steps) *
                                     static_cast<std::uint64_t>(common_entry.data_step));
  };
  while (!program.is_at_end() && location <= address) {
    const auto code = program.read_fixed<unsigned char>();
    const std::uint64_t low = code & 0x3fU;
    switch (code >> 6) {
      case 1: location += low * common_entry.code_step; continue;
      case 2: put(low, rules::rule::stored, scaled(program.number())); continue;
      case 3:
        if (rules::rule* const rule = now.rule_of(low)) *rule = *const_cast<rules&>(initial).rule_of(low);
        continue;
      default: break;
    }
    switch (code) {
      case 0x00: break;  // nop
      case 0x01:
        if (!program.pointer(common_entry.encoding, location)) return false;
        break;                                                                                    // set_loc
      case 0x02: location += program.read_fixed<std::uint8_t>() * common_entry.code_step; break;  // advance_loc1
      case 0x03: location += program.read_fixed<std::uint16_t>() * common_entry.code_step; break;
      case 0x04: location += program.read_fixed<std::uint32_t>() * common_entry.code_step; break;
      case 0x05: {  // offset_extended
        const std::uint64_t number = program.number();
        put(number, rules::rule::stored, scaled(program.number()));
        break;
      }
      case 0x06: {  // restore_extended
        const std::uint64_t number = program.number();
        if (rules::rule* const rule = now.rule_of(number)) *rule = *const_cast<rules&>(initial).rule_of(number);
        break;
      }
      case 0x07: put(program.number(), rules::rule::undefined); break;
      case 0x08: put(program.number(), rules::rule::unchanged); break;
      case 0x09:
        put(program.number(), rules::rule::unsupported);
        program.number();
        break;    // register
      case 0x0a:  // remember_state
        if (saved_count == depth) return false;
        saved_rules[saved_count++] = now;
        break;
      case 0x0b:  // restore_state
        if (saved_count == 0) return false;
        now = saved_rules[--saved_count];
        break;
      case 0x0c:  // def_cfa
        now.base = program.number();
        now.up = static_cast<std::int64_t>(program.number());
        now.has_expression = false;
        break;
      case 0x0d: now.base = program.number(); break;                           // def_cfa_register
      case 0x0e: now.up = static_cast<std::int64_t>(program.number()); break;  // def_cfa_offset
      case 0x0f:
        now.has_expression = true;
        program.skip(program.number());
        break;  // def_cfa_expression
      case 0x10:
      case 0x16:
        put(program.number(), rules::rule::unsupported);
        program.skip(program.number());
        break;      // expressions
      case 0x11: {  // offset_extended_sf
        const std::uint64_t number = program.number();
        put(number, rules::rule::stored, scaled(program.signed_number()));
        break;
      }
      case 0x12:  // def_cfa_sf
        now.base = program.number();
        now.up = scaled(program.signed_number());
        now.has_expression = false;
        break;
      case 0x13: now.up = scaled(program.signed_number()); break;  // def_cfa_offset_sf
      case 0x2d: break;                                            // AArch64: negate_ra_state
      case 0x2e: program.number(); break;                          // GNU_args_size
      default: return false;
    }
  }
  return true;
}

// Returns true when the location of a saved register can be kept in one byte.
bool fits(std::int64_t offset) { return offset % 8 == 0 && offset / 8 >= -128 && offset / 8 < 128; }

row pack_row(const rules& source) {
  row result;
  if (source.ret.kind == rules::rule::undefined) {
    result.rule = row::outermost;
    return result;
  }
  const bool is_readable = !source.has_expression && (source.base == stack_register || source.base == frame_register) &&
                           source.ret.kind == rules::rule::stored &&
                           source.up == static_cast<std::int32_t>(source.up) && fits(source.ret.offset) &&
                           (source.frame.kind == rules::rule::unchanged ||
                            (source.frame.kind == rules::rule::stored && fits(source.frame.offset)));
  if (!is_readable) return result;
  result.rule = source.base == stack_register ? row::from_stack : row::from_frame;
  result.up = static_cast<std::int32_t>(source.up);
  result.return_at = static_cast<std::int8_t>(source.ret.offset / 8);
  result.is_frame_saved = source.frame.kind == rules::rule::stored;
  result.frame_at = static_cast<std::int8_t>(source.frame.offset / 8);
  return result;
}

}  // namespace

row row_in(const unsigned char* begin, const unsigned char* end, const unsigned char* header,
           std::uintptr_t address) noexcept {
  const auto has_word = [&](const unsigned char* position) { return position >= begin && position <= end - 4; };
  constexpr std::ptrdiff_t header_bytes = 12;
  if (header < begin || end - header < header_bytes) return {};
  // The header has: the version, three encodings, a pointer to .eh_frame, the number of entries, and the entries
  // sorted by start. Each entry holds a start and a description, both as offsets from `header`.
  if (header[0] != 1 || header[1] == omitted || header[2] != unsigned_4 || header[3] != table_4) return {};
  bytes reader(header + 4, end);
  reader.skip(4);
  const auto count = reader.read_fixed<std::uint32_t>();
  const unsigned char* const table = reader.position();
  if (count > static_cast<std::uint64_t>(end - table) / 8) return {};
  const auto entry = [&](std::size_t number, std::size_t word) {
    std::int32_t value;
    std::memcpy(&value, table + number * 8 + word * 4, sizeof value);
    return header + value;
  };
  std::size_t low = 0, high = count;  // searches for the last entry that starts at or before the address
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (reinterpret_cast<std::uintptr_t>(entry(middle, 0)) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {};

  if (!has_word(entry(low - 1, 1))) return {};
  bytes description(entry(low - 1, 1), end);
  const auto length = description.read_fixed<std::uint32_t>();
  if (length == 0 || length >= 0xfffffff0U || length > static_cast<std::uint64_t>(end - description.position()))
    return {};
  description = bytes(description.position(), description.position() + length);
  const unsigned char* const back_from = description.position();
  const unsigned char* const common_at = back_from - description.read_fixed<std::uint32_t>();
  common shared;
  if (!has_word(common_at) || !read_common(common_at, end, shared)) return {};
  std::uintptr_t start = 0;
  if (!description.pointer(shared.encoding, start)) return {};
  const std::uint64_t covered =
      shared.encoding == relative_4 ? description.read_fixed<std::uint32_t>() : description.read_fixed<std::uint64_t>();
  if (address < start || address - start >= covered) return {};
  if (shared.is_signal_frame) return {.rule = row::signal};
  if (shared.is_augmented) description.skip(description.number());

  rules now;
#if defined(__aarch64__)
  now.ret.how = rules::rule::same;  // in the link register: only in the innermost frame, which is ours
#endif
  if (!run(shared.instructions, shared, 0, ~std::uintptr_t{0}, now, now)) return {};
  const rules initial = now;
  if (!run(description, shared, start, address, initial, now)) return {};
  return pack_row(now);
}

}  // namespace tarn::unwind
