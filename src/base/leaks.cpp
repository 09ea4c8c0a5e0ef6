#include "base/leaks.hpp"

#include "base/site.hpp"
#include "base/text.hpp"

namespace tarn::base {

void leak_report::add(std::size_t bytes, const void* site, std::uint32_t thread) noexcept {
  place* of = places_;
  while (of != places_ + count_ && (of->site != site || of->thread != thread)) {
    ++of;
  }
  if (of == places_ + count_) {
    if (count_ == most_places) {
      of = &others_;
    } else {
      *of = {.site = site, .thread = thread, .blocks = 0, .bytes = 0};
      ++count_;
    }
  }
  for (place* each : {of, &total_}) {
    ++each->blocks;
    each->bytes += bytes;
  }
}

void leak_report::print(const char* kind, const char* name, const void* address) noexcept {
  if (total_.blocks == 0) {
    return;
  }
  // There are few places, so this is an insertion sort; it needs neither exceptions nor the C++ runtime.
  for (std::size_t at = 1; at < count_; ++at) {
    const place moved = places_[at];
    std::size_t to = at;
    for (; to != 0 && places_[to - 1].bytes < moved.bytes; --to) {
      places_[to] = places_[to - 1];
    }
    places_[to] = moved;
  }
  const auto count = [](text& line, const place& of) -> text& {
    return line.decimal(of.blocks).append(" blocks, ").decimal(of.bytes).append(" bytes");
  };
  text_buffer<8192> message;
  message.append("tarn: ").append(kind).append(" \"").escaped(name).append("\" at ").pointer(address);
  count(message.append(": ended with "), total_).append(", in use\n");
  for (std::size_t at = 0; at < count_; ++at) {
    count(message.append("tarn:   "), places_[at]).append(", allocated at ");
    append_site(message, places_[at].site).append(" by thread ").decimal(places_[at].thread).append('\n');
  }
  if (others_.blocks != 0) {
    count(message.append("tarn:   "), others_).append(", allocated elsewhere\n");
  }
  message.write_to(2);
}

}  // namespace tarn::base
