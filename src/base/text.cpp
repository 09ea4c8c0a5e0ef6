#include "base/text.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tarn::base {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";
constexpr std::size_t max_decimal_digits = 20;  // for a 64-bit number

bool is_printable(unsigned char byte) noexcept { return byte >= 0x20 && byte < 0x7f; }

struct decimal_digits {
  char bytes[max_decimal_digits];
  std::size_t first = max_decimal_digits;

  explicit decimal_digits(std::uint64_t number) noexcept {
    do {
      bytes[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
  }
  std::string_view view() const noexcept { return {bytes + first, max_decimal_digits - first}; }
};

}  // namespace

text& text::append(std::string_view bytes) noexcept {
  std::size_t count = bytes.size();
  if (count > capacity_ - size_) {
    count = capacity_ - size_;
    is_truncated_ = true;
  }
  if (count != 0) std::memcpy(storage_ + size_, bytes.data(), count);
  size_ += count;
  return *this;
}

text& text::append(char byte) noexcept { return append(std::string_view(&byte, 1)); }

text& text::decimal(std::uint64_t number) noexcept { return append(decimal_digits(number).view()); }

text& text::decimal(std::uint64_t number, std::size_t width) noexcept {
  const decimal_digits digits(number);
  for (std::size_t column = digits.view().size(); column < width; ++column) append(' ');
  return append(digits.view());
}

text& text::hex(std::uint64_t number) noexcept {
  char bytes[16];
  std::size_t first = sizeof bytes;
  do {
    bytes[--first] = hex_digits[number & 15];
    number >>= 4;
  } while (number != 0);
  return append("0x").append(std::string_view(bytes + first, sizeof bytes - first));
}

text& text::append_escaped(std::string_view bytes, std::size_t max_bytes) noexcept {
  std::size_t count = 0;
  for (const char byte : bytes) {
    if (count++ == max_bytes) return append("...");
    const auto value = static_cast<unsigned char>(byte);
    if (byte == '\\') {
      append("\\\\");
    } else if (is_printable(value)) {
      append(byte);
    } else {
      append("\\x").append(hex_digits[value >> 4]).append(hex_digits[value & 15]);
    }
  }
  return *this;
}

text& text::json_string(std::string_view bytes) noexcept {
  append('"');
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      append('\\').append(byte);
    } else if (is_printable(value)) {
      append(byte);
    } else {
      append("\\u00").append(hex_digits[value >> 4]).append(hex_digits[value & 15]);
    }
  }
  return append('"');
}

text& text::pad_to(std::size_t column) noexcept {
  std::size_t width = 0;
  while (width < size_ && storage_[size_ - 1 - width] != '\n') ++width;
  for (; width < column; ++width) append(' ');
  return *this;
}

void text::write_to(int descriptor) const noexcept {
  const int saved_errno = errno;
  const char* next = storage_;
  std::size_t left = size_;
  while (left != 0) {
    // syscall() is used because write() is a cancellation point, and because a program may have replaced it.
    const long written = ::syscall(SYS_write, descriptor, next, left);
    if (written > 0) {
      next += written;
      left -= static_cast<std::size_t>(written);
    } else if (written == 0 || errno != EINTR) {
      break;
    }
  }
  errno = saved_errno;
}

}  // namespace tarn::base
