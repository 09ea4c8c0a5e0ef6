// for (std::string_view line : tarn::io::lines(source)): lines of memory, of a mapped file, of a reader.
#pragma once

#include <tarn/io/mapped_file.hpp>
#include <tarn/io/reader.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tarn::io {

namespace detail {

/// Complete lines of a piece of memory. Finds the ends of 4 KiB at a time, a bit for each byte, so that a short line
/// costs a few instructions instead of a call of memchr.
class line_ends {
 public:
  void start(std::string_view bytes) noexcept {
    const char* const begin = bytes.data();
    const char* const end = begin + bytes.size();
    line_ = begin, word_at_ = scanned_ = begin, end_ = end;
    word_ = words_ = 0;
    bits_ = 0;
  }
  /// False when no end of a line is left; rest() is then what follows the last one.
  bool next(std::string_view& line) noexcept {
    while (bits_ == 0) {
      if (word_ == words_) {
        if (!scan()) return false;
      } else {
        word_at_ += 64;
      }
      bits_ = masks_[word_++];
    }
    const char* const stop = word_at_ + __builtin_ctzll(bits_);
    bits_ &= bits_ - 1;
    line = {line_, static_cast<std::size_t>(stop - line_)};
    line_ = stop + 1;
    return true;
  }
  /// There is more memory behind the end.
  void extend(std::size_t bytes) noexcept { end_ += bytes; }
  std::string_view rest() const noexcept { return {line_, static_cast<std::size_t>(end_ - line_)}; }

 private:
  bool scan() noexcept;  // the next masks; false at the end

  const char* line_ = nullptr;     // where the next line begins
  const char* word_at_ = nullptr;  // of bit 0 of bits_
  const char* scanned_ = nullptr;  // up to here there are masks
  const char* end_ = nullptr;
  std::uint64_t bits_ = 0;  // ends of lines that were not given yet
  unsigned word_ = 0, words_ = 0;
  std::array<std::uint64_t, 64> masks_;
};

template <class Source>
class line_iterator {
 public:
  using value_type = std::string_view;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  line_iterator() = default;
  explicit line_iterator(Source* of) : of_(of) { ++*this; }
  std::string_view operator*() const noexcept { return line_; }
  line_iterator& operator++() {
    if (!of_->next(line_)) of_ = nullptr;
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const line_iterator& one, std::default_sentinel_t) noexcept { return one.of_ == nullptr; }

 private:
  Source* of_ = nullptr;
  std::string_view line_;
};

}  // namespace detail

/// Lines without their '\n', each once, in order: an input range. What follows the last '\n' is a line if there is
/// anything. One thread at a time. The source must live as long; views of memory and of a mapped file are valid as long
/// as that, views of a reader's lines until the next one.
class lines {
 public:
  explicit lines(std::string_view bytes) noexcept { ends_.start(bytes); }
  /// At the end it throws what mapped_file::check() throws: lines before it may have been zeros then.
  explicit lines(const mapped_file& in) noexcept;
  explicit lines(mapped_file&&) = delete;
  /// From here on. Nothing else may use the reader until this ends; it then stands behind the last line that was given.
  explicit lines(reader& in) noexcept : reader_(&in), begin_(in.buffered().data()) { ends_.start(in.buffered()); }
  lines(const lines&) = delete;
  lines& operator=(const lines&) = delete;
  ~lines();

  detail::line_iterator<lines> begin() { return detail::line_iterator<lines>(this); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// The same without a for loop: false at the end.
  bool next(std::string_view& line) { return ends_.next(line) || more(line); }

 private:
  bool more(std::string_view& line);  // the line across a border; false at the end
  void leave_buffer() noexcept;       // takes from the reader what was given

  detail::line_ends ends_;
  reader* reader_ = nullptr;
  const char* begin_ = nullptr;  // of the reader's buffer as ends_ has it
  const mapped_file* file_ = nullptr;
  std::size_t prepared_ = 0;  // of file_, up to here
};

}  // namespace tarn::io
