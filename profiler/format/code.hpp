// Encodes numbers and texts as bytes. An unsigned number is stored in groups of seven bits, the lowest first; the top
// bit is set if another group follows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tarn::format {

// Says why a file cannot be read, in a message for a person.
class unreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class encoder {
 public:
  void number(std::uint64_t value) {
    constexpr std::size_t max_groups = 10;
    char* position = with_room(max_groups);
    for (; value >= 0x80; value >>= 7) *position++ = static_cast<char>(value | 0x80);
    *position++ = static_cast<char>(value);
    size_ = static_cast<std::size_t>(position - bytes_.data());
  }
  // Takes few bytes if `value` is near `before`, on either side.
  void difference(std::uint64_t value, std::uint64_t before) {
    const std::uint64_t up = value - before;
    number(up >> 63 != 0 ? ~(up << 1) : up << 1);
  }
  void text(std::string_view content) {
    number(content.size());
    std::copy(content.begin(), content.end(), with_room(content.size()));
    size_ += content.size();
  }
  // Returns what is encoded so far; valid until more is.
  std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  // Returns where the next bytes belong. A string that is appended to would check and end itself at each number.
  char* with_room(std::size_t size) {
    if (bytes_.size() - size_ < size) bytes_.resize(2 * bytes_.size() + size);
    return bytes_.data() + size_;
  }

  std::string bytes_;  // with room behind the first `size_` bytes
  std::size_t size_ = 0;
};

// Throws `unreadable` if the bytes end too soon or are not valid. Never reads outside of them.
class decoder {
 public:
  explicit decoder(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) throw unreadable("a block ends inside a number");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    throw unreadable("a number with more than 64 bits");
  }
  // Reads a number and throws `unreadable` if it is above `limit`.
  std::uint64_t number(std::uint64_t limit) {
    const std::uint64_t value = number();
    if (value > limit) throw unreadable("a number above its limit");
    return value;
  }
  std::uint64_t difference(std::uint64_t before) {
    const std::uint64_t coded = number();
    return before + ((coded & 1) != 0 ? ~(coded >> 1) : coded >> 1);
  }
  std::string_view text() {
    const std::uint64_t size = number(bytes_.size());
    if (size > bytes_.size()) throw unreadable("a text longer than its block");
    const std::string_view characters = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return characters;
  }

 private:
  std::string_view bytes_;
};

}  // namespace tarn::format
