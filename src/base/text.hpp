// A line of text that is built in the caller's memory, and written with one call.
//
// This code runs inside malloc, before main, after a fault and while the process exits. So nothing here may allocate,
// lock, throw or touch stdio, and libtarn-malloc.so must not need libstdc++. A packaged formatter, such as fmt,
// promises only a part of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn::base {

// Appends to a fixed buffer. Text that does not fit is dropped and noted in is_truncated(); nothing is written past the
// end. Threads: one at a time. No function fails, allocates, locks or changes errno.
class text {
 public:
  constexpr text(char* storage, std::size_t capacity) noexcept : storage_(storage), capacity_(capacity) {}
  text(const text&) = delete;
  text& operator=(const text&) = delete;

  text& append(std::string_view bytes) noexcept;
  text& append(char byte) noexcept;
  text& decimal(std::uint64_t number) noexcept;
  // Appends `number` right-aligned in `width` columns, filled with spaces.
  text& decimal(std::uint64_t number, std::size_t width) noexcept;
  // Appends 0x and the lower-case digits without leading zeros: 0x7f00c0de.
  text& hex(std::uint64_t number) noexcept;
  text& pointer(const void* address) noexcept { return hex(reinterpret_cast<std::uintptr_t>(address)); }
  // Appends at most `limit` of the bytes, then `...`. Bytes that are not printable ASCII appear as \xNN. So a hostile
  // name or value cannot end the line, control a terminal or flood it.
  text& append_escaped(std::string_view bytes, std::size_t limit = 64) noexcept;
  // Appends a quoted JSON string. Bytes that are not ASCII appear as the code points U+0080..U+00FF, so that the
  // result is valid JSON whatever the bytes are.
  text& json_string(std::string_view bytes) noexcept;
  // Appends spaces until `column` bytes stand after the last newline; appends nothing if there are more already.
  text& pad_to(std::size_t column) noexcept;

  std::string_view view() const noexcept { return {storage_, size_}; }
  bool is_truncated() const noexcept { return is_truncated_; }
  void clear() noexcept { size_ = 0, is_truncated_ = false; }

  // Writes everything to `descriptor`, and repeats only after an interruption or a short write. Errors are ignored,
  // because there is no other place to report them. It is not a cancellation point.
  void write_to(int descriptor) const noexcept;

 private:
  char* storage_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool is_truncated_ = false;
};

namespace text_detail {
template <std::size_t Capacity>
struct storage {
  char bytes[Capacity];  // uninitialised: a large buffer must not cost a memset
};
}  // namespace text_detail

// A text with its buffer inside, the usual one for a local variable.
template <std::size_t Capacity>
class text_buffer : private text_detail::storage<Capacity>, public text {
 public:
  text_buffer() noexcept : text(this->bytes, Capacity) {}
};

}  // namespace tarn::base
