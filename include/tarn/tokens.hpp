// Splits a text into views, in a list that is reused: a thread allocates nothing once its list is large enough.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <tarn/recycle.hpp>

namespace tarn {

/// for (std::string_view field : tarn::split(line, ',')) …
///
/// Holds views into the text that was split, which must outlive them; each view may be split again. It is a list with
/// size(), [], and iteration. Threads: one at a time, and the list ends in the cache of the thread that destroys it.
/// Errors: reading throws nothing, and [] does not check its index. Cost: 16 bytes for each part, in a list that is
/// reused.
class tokens {
 public:
  using value_type = std::string_view;
  using const_iterator = const std::string_view*;

  const_iterator begin() const noexcept { return parts_->data(); }
  const_iterator end() const noexcept { return parts_->data() + parts_->size(); }
  std::size_t size() const noexcept { return parts_->size(); }
  bool empty() const noexcept { return parts_->empty(); }
  std::string_view operator[](std::size_t index) const noexcept { return (*parts_)[index]; }

 private:
  friend tokens split(std::string_view text, char separator);
  friend tokens split_words(std::string_view text, std::string_view separators);
  tokens() : parts_(recycle<std::vector<std::string_view>>()) {}

  recycled_object<std::vector<std::string_view>> parts_;
};

/// Returns the parts between separators, including empty ones: always one more than there are separators. Any thread
/// may call it. Throws std::bad_alloc. Cost: one pass over the text; it allocates only while this thread's list grows.
[[nodiscard]] inline tokens split(std::string_view text, char separator) {
  tokens result;
  for (;;) {
    const std::size_t end = text.find(separator);
    result.parts_->push_back(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end + 1);
  }
}

/// Returns the parts between any of `separators`, without empty ones. Threads, errors and cost are those of split();
/// each character is compared with each separator.
[[nodiscard]] inline tokens split_words(std::string_view text, std::string_view separators = " \t\r\n\v\f") {
  tokens result;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return result;
    text.remove_prefix(begin);
    const std::size_t end = text.find_first_of(separators);
    result.parts_->push_back(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end);
  }
}

}  // namespace tarn
