// Iterates over the lines of memory, of a mapped file or of a reader: for (std::string_view line :
// tarn::io::lines(source)).
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

/// Finds the complete lines of a piece of memory. It finds the line ends in 4 KiB at a time, one bit for each byte,
/// so that a short line costs a few instructions instead of a call of memchr.
class line_ends {
 public:
  void start(std::string_view bytes) noexcept {
    const char* const begin = bytes.data();
    const char* const end = begin + bytes.size();
    line_ = begin, word_at_ = scanned_ = begin, end_ = end;
    word_ = word_count_ = 0;
    bits_ = 0;
  }
  /// Returns false when no line end is left; rest() is then the text behind the last one.
  bool next(std::string_view& line) noexcept {
    while (bits_ == 0) {
      if (word_ == word_count_) {
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
  /// Adds the `bytes` bytes behind the end.
  void extend(std::size_t bytes) noexcept { end_ += bytes; }
  std::string_view remainder() const noexcept { return {line_, static_cast<std::size_t>(end_ - line_)}; }

 private:
  bool scan() noexcept;  // computes the next masks; returns false at the end

  const char* line_ = nullptr;     // the start of the next line
  const char* word_at_ = nullptr;  // the address that bit 0 of bits_ stands for
  const char* scanned_ = nullptr;  // the end of the memory that has masks
  const char* end_ = nullptr;
  std::uint64_t bits_ = 0;  // line ends that were not returned yet
  unsigned word_ = 0, word_count_ = 0;
  std::array<std::uint64_t, 64> masks_;
};

template <class Source>
class line_iterator {
 public:
  using value_type = std::string_view;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  line_iterator() = default;
  explicit line_iterator(Source* source) : source_(source) { ++*this; }
  std::string_view operator*() const noexcept { return line_; }
  line_iterator& operator++() {
    if (!source_->next(line_)) source_ = nullptr;
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const line_iterator& iterator, std::default_sentinel_t) noexcept {
    return iterator.source_ == nullptr;
  }

 private:
  Source* source_ = nullptr;
  std::string_view line_;
};

}  // namespace detail

/// The lines of a source without their '\n', in order: an input range. Text behind the last '\n' counts as a line.
/// Threads: one at a time. The source must outlive this object. Views of memory and of a mapped file stay valid as long
/// as their source, views of a reader's lines until the next line. Errors: a reader's lines throw what reader::line()
/// throws, a mapped file's what mapped_file::check() throws. Cost: one pass that finds the line ends of 4 KiB at a
/// time.
class lines {
 public:
  /// Reads the lines of a text in memory.
  explicit lines(std::string_view bytes) noexcept { ends_.start(bytes); }
  /// Reads the lines of a mapped file. The end of the range calls mapped_file::check(), which throws if earlier lines
  /// may have read as zeros.
  explicit lines(const mapped_file& file) noexcept;
  explicit lines(mapped_file&&) = delete;
  /// Reads the lines from the reader's position on. Nothing else may use the reader until this object ends. The reader
  /// then stands behind the last line that was returned.
  explicit lines(reader& source) noexcept : reader_(&source), begin_(source.buffered_text().data()) {
    ends_.start(source.buffered_text());
  }
  lines(const lines&) = delete;
  lines& operator=(const lines&) = delete;
  ~lines();

  detail::line_iterator<lines> begin() { return detail::line_iterator<lines>(this); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// Stores the next line in `line`; returns false at the end.
  bool next(std::string_view& line) { return ends_.next(line) || read_more(line); }

 private:
  bool read_more(std::string_view& line);  // finds the line across a buffer's border; returns false at the end
  void leave_buffer() noexcept;            // consumes in the reader what was returned

  detail::line_ends ends_;
  reader* reader_ = nullptr;
  const char* begin_ = nullptr;  // the reader's buffer as ends_ knows it
  const mapped_file* file_ = nullptr;
  std::size_t prepared_ = 0;  // the prefetched part of file_, in bytes
};

}  // namespace tarn::io
