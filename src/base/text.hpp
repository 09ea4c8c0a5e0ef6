// A line of text built in memory that the caller provides, and one write of it.
//
// Why not fmt or std::format: this code runs inside malloc, before main, after a fault and while the process
// exits. Nothing here may allocate, lock, throw or touch stdio, and libtarn-malloc.so must not need libstdc++;
// a packaged formatter promises at most some of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn::base {

// Appends to a fixed buffer. What does not fit is dropped and remembered in truncated(); nothing is written past
// the end. One thread at a time. No function fails, allocates, locks or changes errno.
class text {
 public:
  constexpr text(char* storage, std::size_t capacity) noexcept : storage_(storage), capacity_(capacity) {}
  text(const text&) = delete;
  text& operator=(const text&) = delete;

  text& append(std::string_view bytes) noexcept;
  text& append(char byte) noexcept;
  text& decimal(std::uint64_t number) noexcept;
  // `number` right-aligned in `width` columns, filled with spaces.
  text& decimal(std::uint64_t number, std::size_t width) noexcept;
  // 0x and the lower-case digits without leading zeros: 0x7f00c0de.
  text& hex(std::uint64_t number) noexcept;
  text& pointer(const void* address) noexcept { return hex(reinterpret_cast<std::uintptr_t>(address)); }
  // `bytes` with everything that is not printable ASCII as \xNN, and at most `most` source bytes, then `...`: a
  // hostile name or value cannot end the line, steer a terminal or flood it.
  text& escaped(std::string_view bytes, std::size_t most = 64) noexcept;
  // A quoted JSON string. Bytes that are not ASCII appear as the code points U+0080..U+00FF, so that the result
  // is valid JSON whatever the bytes are.
  text& json_string(std::string_view bytes) noexcept;
  // Appends spaces until `column` bytes stand after the last newline; nothing if there are more already.
  text& pad_to(std::size_t column) noexcept;

  std::string_view view() const noexcept { return {storage_, size_}; }
  bool truncated() const noexcept { return truncated_; }
  void clear() noexcept { size_ = 0, truncated_ = false; }

  // Writes everything to `descriptor`, repeating only after an interruption or a short write. Errors are ignored:
  // there is nobody left to tell. Not a cancellation point.
  void write_to(int descriptor) const noexcept;

 private:
  char* storage_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool truncated_ = false;
};

namespace text_detail {
template <std::size_t Capacity>
struct storage {
  char bytes[Capacity];  // left uninitialised: a large one must not cost a memset
};
}  // namespace text_detail

// A text with its buffer inside; the usual one for a local variable.
template <std::size_t Capacity>
class text_buffer : private text_detail::storage<Capacity>, public text {
 public:
  text_buffer() noexcept : text(this->bytes, Capacity) {}
};

}  // namespace tarn::base
