// Writes characters as UTF-8, where no library may be called.
#pragma once

#include <cstdint>

namespace tarn::format {

// Gives the bytes of a character to `put`, one by one. Half of a surrogate pair, and what is beyond Unicode, has no
// bytes in UTF-8: it becomes U+FFFD.
template <class Put>
constexpr void encode_utf8(std::uint32_t character, Put put) noexcept(noexcept(put(character))) {
  constexpr std::uint32_t first_surrogate = 0xd800, last_surrogate = 0xdfff, last_character = 0x10ffff;
  const bool is_surrogate = character >= first_surrogate && character <= last_surrogate;
  if (is_surrogate || character > last_character) character = 0xfffd;
  if (character < 0x80) {
    put(character);
    return;
  }
  const unsigned further = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  const std::uint32_t mark = 0xff00U >> (further + 1) & 0xffU;  // as many top bits as there are bytes
  put(mark | character >> (6 * further));
  for (unsigned left = further; left-- > 0;) put(0x80U | (character >> (6 * left) & 0x3fU));
}

}  // namespace tarn::format
