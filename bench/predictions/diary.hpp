// Writes a log line for each event at once. Remedy: a buffer, tarn::io::writer.
#pragma once
#include <charconv>
#include <string_view>

#include <tarn/io/writer.hpp>
#include "predictions/temporary.hpp"
#include "predictions/work.hpp"

namespace predictions::diary {

struct line {
  char text[160];
  std::size_t used = 0;
  void add(std::string_view text_added) { used += text_added.copy(text + used, sizeof text - used); }
  void add(std::uint32_t value) {
    used = static_cast<std::size_t>(std::to_chars(text + used, text + sizeof text, value).ptr - text);
  }
  std::string_view view() const { return {text, used}; }
};

inline line event(numbers& random) {
  line entry;
  entry.add("level=info event=");
  entry.add(random.below(1000));
  entry.add(random.below(2) == 0 ? " state=open user=" : " state=closed reason=\"nobody wanted it\" user=");
  entry.add(random.below(1000000));
  entry.add("\n");
  return entry;
}

[[gnu::noinline]] inline void note(const temporary& output, const line& entry) { output.put(entry.view()); }

template <bool Buffered>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  const temporary file;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    file.rewind();
    tarn::io::writer output(tarn::io::file::borrow(file.number(), "diary"));
    for (int left = 10000; left > 0; --left) {
      const line next = event(random);
      sum = sum * 31 + next.used;
      Buffered ? output.write(next.view()) : note(file, next);
    }
  }
  return sum;
}

}  // namespace predictions::diary
